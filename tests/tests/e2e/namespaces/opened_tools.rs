//! A tool's file that the program opens itself, or needs by what it opens: it gets the tool that is there.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use libtest_mimic::Failed;
use qmpi_tests::against::Failures;
use qmpi_tests::{Job, Mpi, Trial, Verdict, compile, on_each_mpi, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("alone", &Mpi::ALL, alone),
        ("among_others", &Mpi::ALL, among_others),
        ("twice", &Mpi::ALL, twice),
        ("a_clone", &Mpi::ALL, a_clone),
    ])
}

/// The program with the tool's file, a link to it, and a library that needs it.
struct Files {
    job: Job,
    tool: PathBuf,
    _directory: tempfile::TempDir,
}

fn files(mpi: Mpi) -> Result<Files, Failed> {
    let directory = tempfile::tempdir()?;
    let (tool, link) = (compile::companion(mpi, "counting_api.c"), directory.path().join("binding.so"));
    symlink(&tool, &link)?;
    let binding = compile::companion(mpi, "counting_binding.c");
    let args = [&tool, &link, &binding].map(|path| path.display().to_string());
    Ok(Files { job: Job::alone(mpi, &program(mpi, "opens_its_tool.c")).args(&args), tool, _directory: directory })
}

/// As under `LD_PRELOAD` in each of these stacks.
fn as_preloaded(files: &Files, stacks: &[&[&str]]) -> Verdict {
    let preloaded = files.job.clone().preload(&files.tool).run();
    let lines =
        ["before", "needed", "there", "path", "link", "soname", "again", "after"].map(|how| format!("{how}: 3"));
    preloaded.expect(0, &lines)?;
    let mut failures = Failures::default();
    for tools in stacks {
        failures.same_in_stack(&files.job, tools, &preloaded);
    }
    failures.verdict()
}

fn alone(mpi: Mpi) -> Verdict {
    let files = files(mpi)?;
    as_preloaded(&files, &[&[&files.tool.display().to_string()]])
}

fn among_others(mpi: Mpi) -> Verdict {
    let files = files(mpi)?;
    let [path, other] = [&files.tool, &tool(mpi, "order")].map(|path| path.display().to_string());
    let quiet = Files { job: files.job.clone().env("ORDER_FILE", "/dev/null"), ..files };
    as_preloaded(&quiet, &[&[&path, &other], &[&other, &path]])
}

/// The outermost instance.
fn twice(mpi: Mpi) -> Verdict {
    let files = files(mpi)?;
    let path = files.tool.display().to_string();
    as_preloaded(&files, &[&[&path, &path]])
}

/// More instances than namespaces: most are copies of the file in memory.
fn a_clone(mpi: Mpi) -> Verdict {
    let files = files(mpi)?;
    let path = files.tool.display().to_string();
    as_preloaded(&files, &[&[path.as_str(); 20]])
}
