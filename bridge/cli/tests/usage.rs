//! Wrong usage: status 2, one line, one hint. Help and version: status 0.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod support;

use support::Fixture;

#[test]
fn every_way_to_get_it_wrong() {
    let fixture = Fixture::new();
    for (args, message) in [
        (&[][..], "no command given"),
        (&["bogus"], "unrecognized subcommand 'bogus'"),
        (&["--bogus"], "unexpected argument '--bogus'"),
        (&["run"], "<COMMAND>..."),
        (&["run", "--dry-run"], "<COMMAND>..."),
        (&["run", "--bogus", "true"], "unexpected argument '--bogus'"),
        (&["run", "-t"], "--tool <TOOL>"),
        (&["run", "-t", "", "true"], "--tool <TOOL>"),
        (&["run", "-t", " ", "true"], "-t: the tool is empty"),
        (&["run", "-t", "a,,b", "true"], "-t: element 2 is empty"),
        (&["run", "-t", "=x", "true"], "-t: element 1 (`=x`) has no name before the `=`"),
        (&["run", "-t", "x=", "true"], "-t: element 1 (`x=`) has no path after the `=`"),
        (&["run", "-c"], "--config <FILE>"),
        (&["run", "-c", "a", "-c", "b", "true"], "--config"),
        (&["run", "-q", "-v", "true"], "cannot be used with"),
        (&["run", "--dry-run=yes", "true"], "--dry-run"),
        (&["inspect"], "<PATH>..."),
        (&["inspect", "--yaml", "x"], "unexpected argument '--yaml'"),
        (&["list", "x"], "unexpected argument 'x'"),
        (&["env", "--", "x"], "unexpected argument 'x'"),
        (&["doctor", "x"], "unexpected argument 'x'"),
        (&["completions"], "<SHELL>"),
        (&["completions", "csh"], "'csh'"),
        (&["man", "bogus"], "no manual page for `bogus`"),
        (&["man", "run", "-o", "x"], "cannot be used with"),
    ] {
        let answer = fixture.qmpi(args);
        assert_eq!(answer.stdout, "", "{args:?}");
        answer.failure(2, message);
    }
}

#[test]
fn help_names_statuses_and_examples() {
    let fixture = Fixture::new();
    for command in ["run", "inspect", "list", "env", "doctor", "completions", "man"] {
        assert!(fixture.qmpi([command, "--help"]).success().contains("EXAMPLES"), "{command}");
    }
    let run = fixture.qmpi(["run", "--help"]).success();
    assert!(run.contains("127  COMMAND was not found") && run.contains("QMPI_RUNTIME"));
    assert!(fixture.qmpi(["--help"]).success().contains("EXIT STATUS"));
    assert_eq!(fixture.qmpi(["--version"]).success(), format!("qmpi {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn completions_and_pages_come_from_the_same_definition() {
    let fixture = Fixture::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        assert!(fixture.qmpi(["completions", shell]).success().contains("dry-run"), "{shell}");
    }
    assert!(fixture.qmpi(["man"]).success().contains(".TH qmpi 1"));
    assert!(fixture.qmpi(["man", "run"]).success().contains(".SH EXIT STATUS"));
    fixture.qmpi(["man", "-o", "man1"]).success();
    assert!(fixture.path().join("man1/qmpi-inspect.1").is_file());
    fixture.qmpi(["man", "-o", "libqmpi.so"]).failure(3, "cannot write libqmpi.so/qmpi.1");
}
