//! A tool whose version entries (DT_VERNEED) name a library that is not among its DT_NEEDED entries, as `patchelf --remove-needed` leaves it.
//!
//! In a plain process the program or MPI brings the library. In a namespace of its own `ld.so` ends the process with an assertion
//! (`elf/dl-version.c: _dl_check_map_versions`), unless the library is there under this name.

use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::Failed;
use qmpi_tests::against::{Failures, stacked};
use qmpi_tests::compile::tool_variant;
use qmpi_tests::{Job, Mpi, Trial, Verdict, compile, on_each_mpi, program};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("libm", &Mpi::ALL, |mpi| removed(mpi, &["libm.so.6"])),
        ("library_of_the_program", &Mpi::ALL, |mpi| removed(mpi, &["part_with_versions.so"])),
        // The library is one that MPI brings, if the program does not.
        ("in_a_namespace", &Mpi::ALL, |mpi| instances(mpi, 1)),
        // More instances than there are namespaces.
        ("as_a_clone", &Mpi::ALL, |mpi| instances(mpi, 17)),
        ("both", &Mpi::ALL, |mpi| removed(mpi, &["libm.so.6", "part_with_versions.so"])),
    ])
}

/// Plain `LD_PRELOAD`: the tool works, as the program is linked with both libraries.
fn removed(mpi: Mpi, libraries: &[&str]) -> Verdict {
    let directory = tempfile::tempdir()?;
    let good = compile::companion(mpi, "missing_version.c");
    let tool = without(&good, libraries, directory.path())?;
    let part = compile::companion(mpi, "part_with_versions.c");
    let program = compile::program_with(mpi, "asks_size.c", &part);
    let libm = directory.path().join("asks_size_with_libm");
    // Linked with libm as well: MPI libraries need it, but not each of them has to.
    patchelf(&["--output", &libm.display().to_string(), "--add-needed", "libm.so.6", &program.display().to_string()])?;
    let job = Job::alone(mpi, &libm).env("LD_LIBRARY_PATH", compile::directory(mpi).display().to_string());
    let plain = job.clone().preload(&tool).run();
    let right = ["asks_size: 1", "missing_version: 42 0.707"].map(str::to_owned);
    plain.expect(0, &right).map_err(|reason| format!("plain LD_PRELOAD: {reason}"))?;
    let name = tool.display().to_string();
    let mut failures = Failures::default();
    for (mode, job) in stacked(&job, &[&name]) {
        let outcome = job.run();
        // That the function has to come from the program is worth a warning.
        if outcome.status != plain.status || outcome.lines() != plain.lines() {
            failures.note(Err(format!("{mode}: {}\nas without libqmpi\n{}", outcome.report(), plain.report())));
        }
    }
    failures.verdict()
}

/// A stack of so many counters that need a function of a library which they do not name.
fn instances(mpi: Mpi, count: usize) -> Verdict {
    let directory = tempfile::tempdir()?;
    let named = tool_variant(mpi, "counter", "unnamed", &["-Wl,-u,cos", "-Wl,--no-as-needed", "-lm"]);
    let tool = without(&named, &["libm.so.6"], directory.path())?.display().to_string();
    let outcome = Job::new(mpi, 2, &program(mpi, "ring.c")).stack(&vec![tool.as_str(); count]).run();
    outcome.expect(0, &[])?;
    match outcome.count("counter: MPI calls of 2 ranks") {
        tables if tables == count => Ok(()),
        tables => Err(format!("{tables} tables of {count} instances\n{}", outcome.report()).into()),
    }
}

/// A copy of the tool that does not need these libraries, but has their versions.
fn without(tool: &Path, libraries: &[&str], directory: &Path) -> Result<PathBuf, Failed> {
    let copy = directory.join("repackaged.so");
    std::fs::copy(tool, &copy)?;
    let name = copy.display().to_string();
    for library in libraries {
        patchelf(&["--remove-needed", library, &name])?;
    }
    let output = Command::new("readelf").args(["-d", "-V", "-W", &name]).env("LC_ALL", "C").output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for library in libraries {
        let is_needed = text.lines().any(|line| line.contains("(NEEDED)") && line.contains(library));
        if is_needed || !text.contains(&format!("File: {library}")) {
            return Err(format!("{library} is needed, or has no version entry:\n{text}").into());
        }
    }
    Ok(copy)
}

fn patchelf(words: &[&str]) -> Verdict {
    let output = Command::new("patchelf").args(words).output();
    let output = output.map_err(|error| format!("patchelf: {error}: run `bash ci/setup` to install it"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned().into()) }
}
