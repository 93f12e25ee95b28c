//! The command from outside: exit codes, one line for the error and one for the hint.

use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_shim-gen")).args(arguments).output().unwrap_or_else(|error| panic!("{error}"))
}

fn fails(arguments: &[&str], code: i32, message: &str) {
    let output = run(arguments);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
    assert!(output.stdout.is_empty());
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].starts_with("shim-gen: ") && lines[0].contains(message), "{text}");
    assert!(lines[1].starts_with("hint: "), "{text}");
}

#[test]
fn wrong_usage_is_2() {
    fails(&["frobnicate"], 2, "frobnicate");
    fails(&["table"], 2, "required");
    fails(&["table", "--header", "lam-7=/x:1.2"], 2, "does not begin with mpich or openmpi");
    fails(&["table", "--header", "mpich"], 2, "expected VENDOR-RELEASE=PATH:VERSION");
    fails(&["passthrough", "--header"], 2, "value is required");
    fails(&["skeleton", "--header", "mpi.h"], 2, "required");
    fails(&["skeleton", "--header", "mpi.h", "--name", "my-tool", "MPI_Send"], 2, "a letter first");
    fails(&["numbering", "--header", "openmpi-4.1.4=mpi.h"], 2, "is not like mpich-4.0.2");
}

#[test]
fn what_cannot_be_read_or_written_is_1() {
    fails(&["passthrough", "--header", "no/such/mpi.h"], 1, "cannot read no/such/mpi.h");
    fails(&["passthrough", "--header", "src"], 1, "no mpi.h in src");
    fails(
        &["passthrough", "--header", "tests/fixtures/empty.h"],
        1,
        "no prototype of an MPI function in tests/fixtures/empty.h",
    );
    fails(&["numbering", "--header", "tests/fixtures/nasty.h"], 1, "has no enum QMPI_Functions_enum");
    fails(&["skeleton", "--header", "tests/fixtures/nasty.h", "MPI_Nothing"], 1, "no prototype of MPI_Nothing");
    fails(&["rust", "--table", "no/such.tsv"], 1, "cannot read no/such.tsv");
    fails(&["rust", "--table", "Cargo.toml"], 1, "Cargo.toml:1:");
    fails(&["stubs", "--table", "../bridge/abi/functions.tsv", "--output", "src"], 1, "cannot write src");
}

#[test]
fn help_and_output() {
    let help = run(&["table", "--help"]);
    assert!(help.status.success());
    assert!(String::from_utf8_lossy(&help.stdout).contains("EXAMPLES"));
    let code = run(&["passthrough", "--header", "tests/fixtures/nasty.h", "--exclude", "MPI_Included"]);
    let text = String::from_utf8_lossy(&code.stdout);
    assert!(text.contains("#include <nasty.h>"));
    assert!(
        text.contains("int (MPI_Declspec)(const void *buf, int count)\n{\n    return (PMPI_Declspec)(buf, count);\n}")
    );
    assert!(!text.contains("MPI_Included"));
}
