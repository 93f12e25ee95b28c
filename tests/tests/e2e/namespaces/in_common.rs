//! Libraries that the program and a tool are linked with: one copy, as under `LD_PRELOAD`, where the files show that this is safe.

use std::path::{Path, PathBuf};
use std::process::Command;

use qmpi_tests::against::{Failures, prints};
use qmpi_tests::{Job, Mpi, Trial, Verdict, compile, on_each_mpi, product, program};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("one_copy", &Mpi::ALL, one_copy),
        ("two_instances", &Mpi::ALL, two_instances),
        ("another_file", &Mpi::ALL, another_file),
        ("a_library_that_calls_mpi", &Mpi::ALL, a_library_that_calls_mpi),
        ("a_library_with_thread_local_variables", &Mpi::ALL, a_library_with_thread_local_variables),
        ("the_unwinder_of_a_late_library", &Mpi::ALL, the_unwinder_of_a_late_library),
        ("opened_by_both", &Mpi::ALL, opened_by_both),
        ("hdf5", &Mpi::ALL, hdf5),
    ])
}

/// The program takes the first number of the library's variable, the tool the next one, if it is the same variable.
fn job(mpi: Mpi) -> Job {
    Job::alone(mpi, &program(mpi, "shares_part_program.c"))
}

fn tool(mpi: Mpi) -> PathBuf {
    compile::companion(mpi, "shares_part_tool.c")
}

const COMMON: &str = "shares_part_tool: 2";
const OWN: &str = "shares_part_tool: 1";

fn one_copy(mpi: Mpi) -> Verdict {
    prints(&job(mpi), &tool(mpi), COMMON, COMMON)
}

/// The outer one is called first, and takes its number when the inner one has taken one.
fn two_instances(mpi: Mpi) -> Verdict {
    let tool = tool(mpi).display().to_string();
    let lines = [COMMON.to_owned(), "shares_part_tool: 3".to_owned()];
    Ok(job(mpi).stack(&[&tool, &tool]).run().expect(0, &lines)?)
}

/// With another file of the name the tool has a copy of its own, unless `share` says otherwise. Under `LD_PRELOAD` it gets the program's.
fn another_file(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let original = tool(mpi);
    let copy = directory.path().join("shares_part_tool.so");
    std::fs::copy(&original, &copy)?;
    std::fs::copy(original.with_file_name("shares_part.so"), directory.path().join("shares_part.so"))?;
    private_but_for_share(&job(mpi), &copy, directory.path())
}

/// Its calls for the tool belong below the tool.
fn a_library_that_calls_mpi(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    private_but_for_share(&with_variant(mpi, directory.path(), "CALLS_MPI")?, &tool(mpi), directory.path())
}

/// An address cannot stand for such variables.
fn a_library_with_thread_local_variables(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    private_but_for_share(&with_variant(mpi, directory.path(), "THREAD_LOCAL")?, &tool(mpi), directory.path())
}

/// Neither program nor tool is linked with the unwinder: it comes with a library that the tool opens, and is there once.
fn the_unwinder_of_a_late_library(mpi: Mpi) -> Verdict {
    const ONCE: &str = "opens_unwinder: libstdc++ open, unwinders 1";
    let job = job(mpi).env("LD_LIBRARY_PATH", "");
    prints(&job, &compile::companion(mpi, "opens_unwinder.c"), ONCE, ONCE)
}

/// The program opens a library, the tool opens it as well, and both close it, three times: constructors and destructors run as often as natively, and
/// their calls are seen each time.
fn opened_by_both(mpi: Mpi) -> Verdict {
    let part = compile::companion(mpi, "opened_by_both_part.c").display().to_string();
    let tool = compile::companion(mpi, "opened_by_both_tool.c").display().to_string();
    let job = Job::alone(mpi, &program(mpi, "opened_by_both.c")).args(std::slice::from_ref(&part));
    let job = job.env("OPENED_BY_BOTH", &*part);
    let reference = job.clone().preload(tool.as_ref()).run();
    reference.expect(0, &["opened_by_both_tool: 3 calls of getppid".to_owned()])?;
    let mut failures = Failures::default();
    failures.same_in_stack(&job, &[&tool], &reference);
    failures.verdict()
}

/// A tool for I/O that wraps functions of HDF5, is linked with it, and asks it about the program's files. HDF5 calls MPI: of two instances both
/// see these calls.
fn hdf5(mpi: Mpi) -> Verdict {
    let compiler = format!("h5pcc.{}", mpi.name());
    let directory = tempfile::tempdir()?;
    let build = |options: &[&str], name: &str| {
        let source = product::root().join("tests/programs").join(name);
        let output = directory.path().join(name.replace(".c", if options.is_empty() { "" } else { ".so" }));
        // The wrapper leaves its object file in the working directory.
        let mut command = Command::new(&compiler);
        command.args(["-shlib", "-O1", "-g"]).args(options).arg("-o").arg(&output).arg(source);
        let built = command.current_dir(directory.path()).output();
        let built = built.map_err(|error| format!("{compiler}: {error}: run `bash ci/setup`"))?;
        let said = String::from_utf8_lossy(&built.stderr).into_owned();
        if built.status.success() { Ok(output) } else { Err(format!("{compiler}: {said}")) }
    };
    let (program, tool) = (build(&[], "hdf5_parallel.c")?, build(&["-shared", "-fPIC"], "wraps_hdf5.c")?);
    let file = directory.path().join("rows.h5").display().to_string();
    let job = Job::new(mpi, 2, &program).args(&[file]);
    let reference = job.clone().preload(&tool).run();
    let line = "wraps_hdf5: created 1 named 1 closed 1, ";
    reference.expect(0, &["hdf5_parallel: 0 wrong".to_owned()])?;
    if reference.count(line) != 1 {
        return Err(format!("LD_PRELOAD: not {line}\n{}", reference.report()).into());
    }
    let mut failures = Failures::default();
    let tool = tool.display().to_string();
    failures.same_in_stack(&job, &[&tool], &reference);
    let twice = job.stack(&[&tool, &tool]).run();
    let count = |outcome: &qmpi_tests::Outcome| {
        outcome.lines().iter().filter(|text| reference.lines().contains(text) && text.starts_with(line)).count()
    };
    if twice.status != 0 || count(&twice) != 2 {
        failures.note(Err(format!("twice: not both as preloaded\n{}\n{}", twice.report(), reference.report())));
    }
    failures.verdict()
}

/// The program and the tool with another build of the library.
fn with_variant(mpi: Mpi, directory: &Path, macro_name: &str) -> Result<Job, String> {
    let source = product::root().join("tests/programs/shares_part.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", &format!("-D{macro_name}"), "-o"]);
    let compiled = compiler.arg(directory.join("shares_part.so")).arg(source).status();
    if !compiled.is_ok_and(|status| status.success()) {
        return Err("the library does not compile".into());
    }
    Ok(job(mpi).env("LD_LIBRARY_PATH", directory.display().to_string()))
}

/// The tool gets the program's copy when it is preloaded, in a stack one of its own, and with `share` the program's.
fn private_but_for_share(job: &Job, tool: &Path, directory: &Path) -> Verdict {
    let mut failures = Failures::default();
    prints(job, tool, COMMON, OWN)?;
    let config = directory.join("qmpi.toml");
    std::fs::write(&config, format!("stack = [\"t\"]\n[tool.t]\npath = {tool:?}\nshare = [\"shares_part.so\"]\n"))?;
    failures.note(job.clone().config(&config).run().expect(0, &[COMMON.to_owned()]));
    failures.verdict()
}
