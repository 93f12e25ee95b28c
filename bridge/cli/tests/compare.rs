//! `qmpi compare` on commands without MPI: directories, output, masks, exit status.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod support;

use support::{Answer, Fixture};

/// Two empty stacks, of which the command can tell which one it is in.
fn fixture() -> Fixture {
    let fixture = Fixture::with_tools();
    fixture.write("a.toml", "stack = []\n");
    fixture.write("b.toml", "stack = []\n");
    fixture
}

fn compare(fixture: &Fixture, options: &[&str], script: &str) -> Answer {
    let sides = ["compare", "-c", "a.toml", "--with", "b.toml", "--runs", "2"];
    // What the dynamic linker says of the file that stands for the runtime has the process id in it.
    let command = ["--", "sh", "-c", script];
    fixture.qmpi([&sides[..], options, &command].concat())
}

/// The side that this is in a script.
const SIDE: &str = "side=$(basename \"$QMPI_CONFIG\" .toml); ";

/// What is said where nothing differs: these commands call no MPI, so that says nothing of tools.
const NOTHING: &str = "no call of MPI was recorded: there is nothing to compare";

#[test]
fn the_same() {
    let fixture = fixture();
    let script = "echo $$ $(date +%s%N); date; echo $((RANDOM)); cat input > output; echo x >> input";
    fixture.write("input", "1\n");
    compare(&fixture, &[], script).failure(2, NOTHING);
    assert_eq!(std::fs::read_to_string(fixture.path().join("input")).unwrap(), "1\n", "the user's file stays");
    let kept = fixture.path().join("qmpi-compare/new-2/files/input");
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "1\nx\n");
}

#[test]
fn different_in_each_way() {
    let fixture = fixture();
    fixture.write("input", "1\n");
    for (script, says) in [
        ("echo one; echo $side; echo two", "    -a\n    +b\n"),
        ("echo $side >&2", "stderr: 1 line differs\n"),
        ("echo $side > result.$$", "  result.<process>: 1 line differs\n"),
        ("echo $side > input", "  input: 1 line differs\n"),
        ("[ $side = a ] || rm input", "  input (removed) is written on the new side only\n"),
        ("mkdir d; echo > d/$side", "  d/a is written on the old side only\n"),
        ("printf \"\\\\000$side\" > binary", "  binary is another one, and not a text\n"),
        ("echo $((RANDOM)) $$; date +%N; [ $side = b ] || echo more", "    -more\n"),
    ] {
        let answer = compare(&fixture, &[], &format!("{SIDE}{script}"));
        assert_eq!(answer.status, 1, "{script}: {answer:?}");
        assert!(
            answer.stdout.starts_with("different: ") && answer.stdout.contains(says),
            "{script}: {}",
            answer.stdout
        );
        assert!(answer.stdout.contains("in 4 runs of each"), "a difference is looked at twice: {}", answer.stdout);
    }
}

#[test]
fn masks() {
    let fixture = fixture();
    let script = format!("{SIDE}echo side=$side; echo $side > $side.txt");
    assert_eq!(compare(&fixture, &[], &script).status, 1);
    let masks = ["--mask", "side=.", "--mask", "^[ab](\\.txt|\n)"];
    compare(&fixture, &masks, &script).failure(2, NOTHING);
    fixture.write("b.toml", "stack = []\nmask = [\"side=.\", \"^[ab](\\\\.txt|\\n)\"]\n");
    compare(&fixture, &[], &script).failure(2, NOTHING);
}

#[test]
fn a_side_of_which_no_run_ends_well() {
    let fixture = fixture();
    for (script, says) in [
        ("[ $side = a ]", "exit status 1"),
        ("[ $side = a ] || kill -9 $$", "signal 9"),
        ("[ $side = a ] || exec sleep 60", "it did not end"),
    ] {
        let answer = compare(&fixture, &["--timeout", "1"], &format!("{SIDE}{script}"));
        answer.failure(2, &format!("no run of the new side (an empty stack) ended well: {says}"));
    }
}

#[test]
fn wrong_usage_and_runs_that_cannot_be_made() {
    let fixture = fixture();
    std::fs::create_dir(fixture.path().join("full")).unwrap();
    fixture.write("full/notes.txt", "");
    for (args, message) in [
        (&["--", "true"][..], "nothing to compare with"),
        (&["--native", "--", "true"], "--native has one tool, and there are 0"),
        (&["--native", "-t", "./libnative.so", "--", "true"], "libnative.so is a QMPI tool"),
        (&["--old", "./libtool.so", "--", "true"], "--new <TOOL>"),
        (&["--old", "./libtool.so", "--new", "./gone.so", "--", "true"], "gone.so"),
        (&["-c", "a.toml", "--with", "gone.toml", "--", "true"], "gone.toml"),
        (&["-c", "a.toml", "--with", "b.toml", "--", "no-such-command"], "no-such-command: command not found"),
        (&["-c", "a.toml", "--with", "b.toml", "--mask", "(", "--", "true"], "mask `(`: unclosed group"),
        (
            &["-c", "a.toml", "--with", "b.toml", "--output", "full", "--", "true"],
            "full is there, and no earlier comparison",
        ),
        (&["-c", "a.toml", "--with", "b.toml", "true"], "unexpected argument 'true'"),
        (&["-c", "a.toml", "--with", "b.toml", "--runs", "0", "--", "true"], "--runs"),
    ] {
        let answer = fixture.qmpi([&["compare"], args].concat());
        assert_eq!(answer.stdout, "", "{args:?}");
        answer.failure(2, message);
    }
}

#[test]
fn runs_that_all_fail_say_nothing_of_tools() {
    let fixture = fixture();
    let answer = compare(&fixture, &[], "exec 2>&-; exit 3");
    answer.failure(2, "no run ended well: exit status 3");
}

#[test]
fn json_has_what_differs() {
    let fixture = fixture();
    let answer = compare(&fixture, &["--json"], &format!("{SIDE}echo $side"));
    let json: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!((&json["schema"], &json["verdict"]), (&1.into(), &"different".into()));
    assert_eq!(json["findings"][0]["kind"], "output");
    assert_eq!(json["sides"][1]["runs"], 4);
}
