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
