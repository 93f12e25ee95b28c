//! Thread-local variables of the program that a tool refers to: it reads and writes the program's, in each thread, as under `LD_PRELOAD`.

use qmpi_tests::against::Failures;
use qmpi_tests::{Job, Mpi, Trial, Verdict, compile, on_each_mpi, program, tool};

/// The compiler's option for references by descriptors.
const DESCRIPTORS: &str = if cfg!(target_arch = "x86_64") { "-mtls-dialect=gnu2" } else { "-mtls-dialect=desc" };

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("general_dynamic", &Mpi::ALL, |mpi| of_the_program(mpi, "gd", &["-ftls-model=global-dynamic"])),
        ("initial_exec", &Mpi::ALL, |mpi| of_the_program(mpi, "ie", &["-ftls-model=initial-exec"])),
        ("descriptors", &Mpi::ALL, |mpi| of_the_program(mpi, "desc", &[DESCRIPTORS])),
        ("bound_at_once", &Mpi::ALL, |mpi| of_the_program(mpi, "now", &[DESCRIPTORS, "-Wl,-z,now,-z,relro"])),
        ("first_library", &Mpi::ALL, first_library),
        ("of_a_library", &Mpi::ALL, of_a_library),
    ])
}

/// The tool's code refers to them in the way that `options` say.
fn of_the_program(mpi: Mpi, variant: &str, options: &[&str]) -> Verdict {
    let path = compile::companion_variant(mpi, "reads_thread_local.c", variant, options);
    let job = Job::alone(mpi, &program(mpi, "has_thread_local.c"));
    let reference = job.clone().preload(&path).run();
    let lines = ["reads_thread_local: 9 4 at start 7", "has_thread_local: 21 21"].map(str::to_owned);
    reference.expect(0, &lines)?;
    let mut failures = Failures::default();
    let path = path.display().to_string();
    failures.same_in_stack(&job, &[&path], &reference);
    // Each of two instances adds one.
    let twice = job.clone().stack(&[&path, &path]).run();
    failures.note(twice.expect(0, &[lines[0].clone(), "has_thread_local: 22 22".to_owned()]));
    let counter = tool(mpi, "counter").display().to_string();
    failures.note(job.stack(&[&counter, &path]).run().expect(0, &lines));
    failures.verdict()
}

/// A library of the tool that `ld.so` initializes before all others reads the variable in its constructor.
fn first_library(mpi: Mpi) -> Verdict {
    let path = compile::companion(mpi, "first_library_tool.c").display().to_string();
    let job = Job::alone(mpi, &program(mpi, "has_thread_local.c"));
    let reference = job.clone().preload(path.as_ref()).run();
    let line = ["first_library_tool: 3 at start, now 9".to_owned()];
    reference.expect(0, &line)?;
    let mut failures = Failures::default();
    failures.same_in_stack(&job, &[&path], &reference);
    failures.note(job.stack(&[&path, &path]).run().expect(0, &line));
    failures.verdict()
}

/// Those of a library of the program are not given: the tool is refused, and works beside the stack.
fn of_a_library(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let source = directory.path().join("variables.c");
    std::fs::write(
        &source,
        "__thread int of_this_thread = 3;\n__thread int next_of_this_thread[4] = { 0, 0, 4, 0 };\n",
    )?;
    let library = directory.path().join("variables.so");
    let compiled =
        std::process::Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status()?;
    if !compiled.success() {
        return Err("the library does not compile".into());
    }
    let path = compile::companion_variant(mpi, "reads_thread_local.c", "gd", &["-ftls-model=global-dynamic"]);
    let job = Job::alone(mpi, &program(mpi, "ring.c"));
    let counter = tool(mpi, "counter").display().to_string();
    job.clone().preload(&path).preload(&library).run().expect(0, &[])?;
    job.clone().preload(&path).preload(&library).by_hand(&counter).run().expect(0, &[])?;
    let outcome = job.preload(&library).by_hand(&path.display().to_string()).run();
    let is_reason = |line: &&str| line.contains("of_this_thread") && line.contains("thread-local variable");
    if outcome.status != 3 || !outcome.said().iter().any(is_reason) {
        return Err(format!("not refused with the reason\n{}", outcome.report()).into());
    }
    Ok(())
}
