//! `qmpi demo` where it cannot go on. Where it can: the end-to-end tests.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod support;

use std::os::unix::fs::PermissionsExt;

use support::Fixture;

fn script(fixture: &Fixture, name: &str, text: &str) {
    let path = fixture.write(name, format!("#!/bin/sh\n{text}\n"));
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_machine_without_mpi() {
    let fixture = Fixture::new();
    let path = [("PATH", "/nonexistent")];
    fixture.qmpi_with(["demo"], &path).failure(3, "mpicc: command not found, and `qmpi demo` needs an MPI");
    fixture.qmpi_with(["demo", "--mpicc", "./mpicc.x"], &path).failure(3, "./mpicc.x: command not found");
    script(&fixture, "mpicc.x", "exit 0");
    fixture.qmpi_with(["demo", "--mpicc", "./mpicc.x"], &path).failure(3, "mpiexec: command not found");
    assert!(!fixture.path().join("qmpi-demo").exists());
}

#[test]
fn a_command_that_fails() {
    let fixture = Fixture::new();
    script(&fixture, "mpicc.x", "exit 7");
    script(&fixture, "mpiexec.x", "exit 0");
    let answer = fixture.qmpi(["demo", "--mpicc", "./mpicc.x"]);
    answer.failure(3, "$DIR/mpicc.x failed (exit status: 7)");
    assert_eq!(answer.stdout, "$ cd qmpi-demo\n$ $DIR/mpicc.x -O2 app.c -o app\n");
    // The sources are those of a user, without what tests read.
    let counter = std::fs::read_to_string(fixture.path().join("qmpi-demo/counter.c")).unwrap();
    assert!(counter.starts_with("/* counter: "), "{counter}");
    fixture.write("file", "");
    fixture.qmpi(["demo", "--mpicc", "./mpicc.x", "file"]).failure(3, "file cannot be written");
}
