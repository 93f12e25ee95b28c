//! Constructors of libraries that the program opens: a tool sees their calls of functions that it wraps, as it does under plain `LD_PRELOAD`. Those of
//! libraries that the program is linked with run before a stack is there (`limits.rs`). Constructors of tools run when those of preloaded ones do.

use std::path::Path;

use libtest_mimic::Failed;
use qmpi_tests::against::{Failures, same, stacked};
use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, compile, on_each_mpi, program, variant};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("calls", &Mpi::ALL, calls),
        ("calls_with_two_layers", &Mpi::ALL, calls_with_two_layers),
        ("ways_to_be_linked", &Mpi::ALL, ways_to_be_linked),
        ("end_of_the_process", &Mpi::ALL, end_of_the_process),
        ("beside_a_qmpi_tool", &Mpi::ALL, beside_a_qmpi_tool),
        ("clones", &Mpi::ALL, clones),
    ])
}

fn job(mpi: Mpi) -> Job {
    let late = variant::build(mpi, "tests/programs/constructors_part.c", "constructors_late.so", &["-DLATE"]);
    job_with(mpi, &late)
}

/// The program, which opens this library.
fn job_with(mpi: Mpi, late: &Path) -> Job {
    Job::alone(mpi, &program(mpi, "constructors.c")).args(&[late.display().to_string()])
}

/// What is printed under `LD_PRELOAD`, where the test says something: but for the calls of the library that the program is linked with.
fn reference(job: &Job, tool: &Path) -> Result<Outcome, Failed> {
    const PRELOADED: &str = "constructed_tool: before 3 after 7 initialized 0 arguments 1";
    let mut outcome = job.clone().preload(tool).run();
    outcome.expect(0, &["constructors: late open, pointers 1".to_owned(), PRELOADED.to_owned()])?;
    outcome.stdout = outcome.stdout.replace(PRELOADED, &PRELOADED.replace("before 3", "before 0"));
    Ok(outcome)
}

/// In a stack, asked for in both ways, it is the same.
fn in_stacks(failures: &mut Failures, job: &Job, tool: &Path, reference: &Outcome) {
    for (mode, job) in stacked(job, &[&tool.display().to_string()]) {
        failures.note(same(&format!("{}, {mode}", tool.display()), reference, &job.run()));
    }
}

fn calls(mpi: Mpi) -> Verdict {
    let (job, tool) = (job(mpi), compile::companion(mpi, "constructed_tool.c"));
    let reference = reference(&job, &tool)?;
    let mut failures = Failures::default();
    in_stacks(&mut failures, &job, &tool, &reference);
    failures.verdict()
}

/// Each layer sees what the one above passes on.
fn calls_with_two_layers(mpi: Mpi) -> Verdict {
    let (job, tool) = (job(mpi), compile::companion(mpi, "constructed_tool.c"));
    let lines = of_tool(&reference(&job, &tool)?);
    let tool = tool.display().to_string();
    each(2, &lines, &job.stack(&[&tool, &tool]).run())
}

/// Constructors in an array and in a function of their own; dynamic sections that can be written to, and that cannot.
fn ways_to_be_linked(mpi: Mpi) -> Verdict {
    let job = job(mpi);
    compile::companion(mpi, "constructed_tool.c");
    let mut failures = Failures::default();
    for (name, options) in [
        ("norelro", &["-Wl,-z,norelro"][..]),
        ("now", &["-Wl,-z,relro,-z,now"]),
        ("single", &["-DSINGLE", "-Wl,-init=begin,-fini=end"]),
    ] {
        let options = [options, &["-l:constructed_part.so"]].concat();
        let tool =
            variant::build(mpi, "tests/programs/constructed_tool.c", &format!("constructed_{name}.so"), &options);
        let reference = reference(&job, &tool)?;
        in_stacks(&mut failures, &job, &tool, &reference);
    }
    failures.verdict()
}

/// What the tool has printed.
fn of_tool(outcome: &Outcome) -> Vec<String> {
    let lines = outcome.lines().into_iter().filter(|line| line.starts_with("constructed_tool: "));
    lines.map(str::to_owned).collect()
}

/// Each of these lines is there so often.
fn each(count: usize, lines: &[String], outcome: &Outcome) -> Verdict {
    outcome.expect(0, &[])?;
    let is_wrong = |line: &&String| outcome.lines().iter().filter(|other| *other == *line).count() != count;
    match lines.iter().find(is_wrong) {
        Some(line) => Err(format!("not {count} times: {line}\n{}", outcome.report()).into()),
        None => Ok(()),
    }
}

/// A constructor of a library that the program is linked with ends the process: there is no stack yet, and a tool that is preloaded has no end either.
fn end_of_the_process(mpi: Mpi) -> Verdict {
    let (job, tool) = (job(mpi).env("CONSTRUCTORS_END", "1"), compile::companion(mpi, "constructed_tool.c"));
    let reference = job.clone().preload(&tool).run();
    reference.expect(3, &[])?;
    let mut failures = Failures::default();
    in_stacks(&mut failures, &job, &tool, &reference);
    failures.verdict()
}

/// Beside a QMPI tool, which is in the program's namespace.
fn beside_a_qmpi_tool(mpi: Mpi) -> Verdict {
    let (job, tool) = (job(mpi), compile::companion(mpi, "constructed_tool.c"));
    let lines = of_tool(&reference(&job, &tool)?);
    let (tool, other) =
        (tool.display().to_string(), format!("counter={}", compile::tool(mpi, "qmpi_counter").display()));
    let mut failures = Failures::default();
    for tools in [[&*tool, &*other], [&*other, &*tool]] {
        let outcome = job.clone().stack(&tools).run();
        failures.note(outcome.expect(0, &lines));
        if outcome.count("counter: MPI calls of 1 ranks") == 0 {
            failures.note(Err(outcome.report()));
        }
    }
    failures.verdict()
}

/// More instances than there are namespaces: clones are initialized likewise.
fn clones(mpi: Mpi) -> Verdict {
    const COUNT: usize = 18;
    let (job, tool) = (job(mpi), compile::companion(mpi, "constructed_tool.c"));
    let lines = of_tool(&reference(&job, &tool)?);
    let tool = tool.display().to_string();
    each(COUNT, &lines, &job.stack(&[&*tool; COUNT]).run())
}
