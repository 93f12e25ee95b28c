//! `qmpi demo`: what a newcomer types first, on a machine with MPI and a C compiler. On machines with nothing else: `ci/first-steps`.

use std::process::Command;

use qmpi_tests::{Mpi, Trial, Verdict, child, on_each_mpi, product};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("its_own_launcher", &Mpi::ALL, its_own_launcher),
        ("a_launcher_that_is_named", &Mpi::ALL, a_launcher_that_is_named),
    ])
}

/// The tables have to be there, and nothing of ours on stderr.
fn demo(mpi: Mpi, launcher: &[String], lines: &[&str]) -> Verdict {
    let directory = tempfile::tempdir()?;
    let mut command = Command::new(product::command());
    command.args(["demo", "--mpicc", &mpi.compiler("c"), "new/files"]).args(launcher).current_dir(directory.path());
    // As root it is the command that allows it.
    let variables = mpi.variables();
    let given = variables.iter().filter(|(name, _)| !launcher.is_empty() || !name.starts_with("OMPI_ALLOW"));
    command.envs(given.map(|(name, value)| (name, value))).env_remove("QMPI_LOG");
    if launcher.is_empty() {
        command.env_remove("OMPI_ALLOW_RUN_AS_ROOT").env_remove("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM");
    }
    let ended = child::run(&mut command);
    let printed: Vec<String> =
        ended.stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let missing = lines.iter().find(|line| !printed.iter().any(|printed| printed.starts_with(**line)));
    if missing.is_some() || !ended.status.success() || ended.stderr.contains("qmpi:") {
        return Err(format!("no {missing:?}: {:?}\n{}\n{}", ended.status, ended.stdout, ended.stderr).into());
    }
    // What is shown can be typed: the files are there.
    for name in ["app", "counter.so", "tbcast.so", "demo.toml"] {
        if !directory.path().join("new/files").join(name).exists() {
            return Err(format!("no {name}").into());
        }
    }
    Ok(())
}

fn its_own_launcher(mpi: Mpi) -> Verdict {
    let compiler = format!("$ {} -O2 app.c -o app", mpi.compiler("c"));
    let lines = [
        "$ cd new/files",
        &compiler,
        "demo: 3 broadcasts to 4 ranks, all correct",
        "outer: MPI calls of 4 ranks",
        "MPI_Bcast 12 48000 ",
        "inner: MPI calls of 4 ranks",
        "MPI_Send 9 36000 ",
        "MPI_Recv 9 36000 ",
    ];
    demo(mpi, &[], &lines)
}

fn a_launcher_that_is_named(mpi: Mpi) -> Verdict {
    let launcher = [vec!["--".to_owned()], mpi.launcher(2)].concat();
    demo(mpi, &launcher, &["demo: 3 broadcasts to 2 ranks, all correct", "MPI_Bcast 6 24000 ", "MPI_Send 3 12000 "])
}
