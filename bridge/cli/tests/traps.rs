//! What new users type, and what they are told.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod support;

use std::os::unix::fs::PermissionsExt;

use support::{Answer, Fixture, PMPI_TOOL};

/// A program of Open MPI, as far as its file shows, and launchers of both kinds, which print their arguments.
fn with_programs() -> Fixture {
    let fixture = Fixture::with_tools();
    let library = "int MPI_Init(void *a, void *b) { return 0; } int PMPI_Init(void *a, void *b) { return 0; }
        int ompi_mpi_comm_world;";
    fixture.library("libmpi.so.40", library, &["-Wl,-soname,libmpi.so.40"]);
    let program = "int MPI_Init(void *, void *); int main(void) { return MPI_Init(0, 0); }";
    fixture.compile("app", program, &["-Wl,-rpath,$ORIGIN", "-L.", "-l:libmpi.so.40"]);
    for name in ["orterun", "mpiexec.hydra"] {
        let path = fixture.write(name, "#!/bin/sh\necho : \"$@\"\n");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    fixture
}

fn hint(answer: &Answer, text: &str) {
    assert!(answer.stderr.contains(text), "no `{text}` in {answer:?}");
}

#[test]
fn a_tool_in_the_place_of_the_command() {
    let fixture = Fixture::with_tools();
    for args in [&["run", "./libtool.so", "--", "true"][..], &["run", "-t", "./libtool.so", "./libtool.so", "true"]] {
        let answer = fixture.qmpi(args);
        answer.failure(2, "./libtool.so is a shared library and no command");
        hint(&answer, "-t ./libtool.so");
    }
}

#[test]
fn a_run_without_tools_says_so() {
    let fixture = Fixture::with_tools();
    let answer = fixture.qmpi(["run", "true", "-t", "./libtool.so"]);
    assert_eq!(answer.status, 0);
    hint(&answer, "qmpi: hint: write the options first: qmpi run -t ./libtool.so");
    hint(&fixture.qmpi(["run", "true"]), "qmpi: warning: no tools: ");
    assert_eq!(fixture.qmpi(["run", "-q", "true"]).stderr, "");
    fixture.write("c.toml", "[tool.tool]\npath = \"libtool.so\"\n");
    hint(
        &fixture.qmpi(["run", "-c", "c.toml", "true"]),
        "no tools: c.toml has no `stack`, and COMMAND runs without one",
    );
    assert!(!fixture.qmpi(["run", "-t", "./libtool.so", "true"]).stderr.contains("no tools"));
}

#[test]
fn a_launcher_of_another_mpi() {
    let fixture = with_programs();
    let message = "$DIR/app uses Open MPI, and the launcher is hydra's";
    let wrong = ["./mpiexec.hydra", "-n", "2", "./app"];
    let answer = fixture.qmpi(["run", "-t", "./libtool.so"].iter().chain(&wrong));
    assert_eq!(answer.status, 3, "{answer:?}");
    assert!(answer.stderr.contains("app uses Open MPI, and the launcher is hydra's"), "{message}: {answer:?}");
    hint(&fixture.qmpi(["doctor", "--"].iter().chain(&wrong)), "");
    assert!(fixture.qmpi(["doctor", "--"].iter().chain(&wrong)).stdout.contains("the launcher is hydra's"));
    // Its own, and a program that is an argument of another.
    assert_eq!(fixture.qmpi(["run", "-t", "./libtool.so", "./orterun", "-n", "2", "./app"]).status, 0);
    assert_eq!(fixture.qmpi(["run", "-t", "./libtool.so", "./mpiexec.hydra", "sh", "./app"]).status, 0);
    let skip = [("QMPI_ON_ERROR", "skip")];
    assert_eq!(fixture.qmpi_with(["run", "-t", "./libtool.so"].iter().chain(&wrong), &skip).status, 0);
}

#[test]
fn arguments_of_programs_stay() {
    let fixture = with_programs();
    let printed = |command: &str| {
        let args = ["run", "-t", "./libtool.so", "--"].into_iter().chain(command.split(' '));
        let answer = fixture.qmpi(args);
        assert_eq!(answer.status, 0, "{answer:?}");
        answer.stdout
    };
    let program = "-n 1 ./app mca_base_env_list X -x LD_PRELOAD";
    assert_eq!(printed(&format!("./orterun {program}")), format!(": -x LD_PRELOAD -x QMPI_TOOL_LIST {program}\n"));
    assert_eq!(printed("./mpiexec.hydra -n 1 sh -genvnone"), ": -n 1 sh -genvnone\n");
    assert_eq!(printed("nice echo --launcher ./orterun -n 4"), "--launcher ./orterun -n 4\n");
    assert_eq!(printed("timeout 5 echo ./orterun"), "./orterun\n");
    assert_eq!(printed("nice timeout 5 ./orterun sh"), ": -x LD_PRELOAD -x QMPI_TOOL_LIST sh\n");
}

#[test]
fn sections_that_no_layer_has() {
    let fixture = Fixture::with_tools();
    fixture.write("c.toml", "[tool.tols]\nenv = { A = \"1\" }\n[tool.other]\n");
    let answer = fixture.qmpi(["env", "-c", "c.toml", "-t", "tools=./libtool.so"]);
    hint(&answer, "layer `tools` has no section in $DIR/c.toml, and [tool.tols] is not used");
    let answer = fixture.qmpi(["env", "-c", "c.toml", "-t", "x=./libtool.so"]);
    hint(&answer, "no layer has a section in $DIR/c.toml: [tool.other], [tool.tols] not used");
    fixture.write("c.toml", "[tool.x]\nenv = { A = \"1\" }\n[tool.other]\n");
    assert_eq!(fixture.qmpi(["env", "-c", "c.toml", "-t", "x=./libtool.so"]).stderr, "");
}

#[test]
fn names_without_a_file() {
    let fixture = Fixture::with_tools();
    fixture.write("c.toml", "stack = [\"tool\", \"c\"]\n[tool.tool]\npath = \"libtool.so\"\n");
    let answer = fixture.qmpi(["run", "-c", "c.toml", "true"]);
    answer.failure(3, "no tool `c` found");
    hint(&answer, "the configuration file has no [tool.c]");
    // Not the script for ld that is libm.so.
    fixture.qmpi(["run", "-t", "m", "true"]).failure(3, "no tool `m` found");
    for name in ["tool", "libtool.so"] {
        let answer = fixture.qmpi(["run", "-t", name, "true"]);
        answer.failure(3, "found in the linker's path");
        hint(&answer, "it is here: write ./libtool.so");
    }
}

#[test]
fn words_that_resemble_commands() {
    let fixture = Fixture::with_tools();
    hint(&fixture.qmpi(["rnu", "true"]), "did you mean `run`?");
    hint(&fixture.qmpi(["help"]), "qmpi --help");
}

#[test]
fn doctor_looks_at_what_run_would_do() {
    let fixture = with_programs();
    let answer = fixture.qmpi(["doctor", "-t", "./libtool.so", "--", "./app"]);
    assert!(answer.stdout.contains("stack       asked for libtool.so"), "{answer:?}");
    assert!(answer.stdout.contains("./app uses Open MPI and is started by itself"), "{answer:?}");
    let answer = fixture.qmpi(["doctor", "-t", "./nowhere.so"]);
    assert_eq!(answer.status, 3);
    assert!(answer.stdout.contains("fail  stack") && answer.stdout.contains("nowhere.so does not exist"), "{answer:?}");
    fixture.write("c.toml", "stack = [\"tool\"]\n[tool.tool]\npath = \"libtool.so\"\n");
    assert!(fixture.qmpi(["doctor", "-c", "c.toml"]).stdout.contains("asked for tool"));
    // A tool for another MPI than the program's.
    let mpich =
        format!("{PMPI_TOOL} extern int MPIR_F08_MPI_IN_PLACE; int *place(void) {{ return &MPIR_F08_MPI_IN_PLACE; }}");
    fixture.library("libmpich_tool.so", &mpich, &[]);
    let answer = fixture.qmpi(["doctor", "-t", "./libmpich_tool.so", "--", "./app"]);
    assert!(answer.stdout.contains("fail  program"), "{answer:?}");
}

#[test]
fn inspect_a_program() {
    let fixture = with_programs();
    let text = fixture.qmpi(["inspect", "./app"]).success();
    assert!(text.contains("kind       program\n  MPI        Open MPI (libmpi.so.40)\n"), "{text}");
    fixture.compile("static", "int PMPI_Init(void) { return 0; } int main(void) { return PMPI_Init(); }", &["-static"]);
    let text = fixture.qmpi(["inspect", "--json", "./static"]).success();
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    let file = &report["files"][0];
    assert_eq!((file["kind"].as_str(), file["program"]["can_have_stack"].as_bool()), (Some("program"), Some(false)));
    assert!(file["program"]["advice"][0].as_str().unwrap().contains("MPI is inside of it"), "{text}");
}

#[test]
fn named_stacks() {
    let fixture = Fixture::with_tools();
    let file = |rows: &str| {
        let text = format!(
            "stack = [\"native\"]\n[stacks]\nrows = {rows}\n[tool.native]\npath = \"libnative.so\"\n[tool.tool]\npath = \"libtool.so\"\n"
        );
        fixture.write("c.toml", text);
    };
    file("[\"tool\"]");
    let text = fixture.qmpi(["list", "--no-load", "-c", "c.toml"]).success();
    assert!(
        text.ends_with("stack rows, for tools that open it (outermost first)\n      tool  $DIR/libtool.so\n"),
        "{text}"
    );
    let report: serde_json::Value =
        serde_json::from_str(&fixture.qmpi(["list", "--no-load", "--json", "-c", "c.toml"]).success()).unwrap();
    assert_eq!(report["stacks"]["rows"][0]["label"], "tool");
    file("[\"toll\"]");
    for command in ["run", "list"] {
        let answer = fixture.qmpi([command, "-c", "c.toml"].into_iter().chain((command == "run").then_some("true")));
        answer.failure(3, "[stacks] rows: no tool `toll` found");
        hint(&answer, "did you mean `tool`?");
    }
}

/// Where the program is not known it may bring the library: a warning. Where it is known and does not, each rank would fail.
#[test]
fn a_shared_library_that_is_not_there() {
    let fixture = with_programs();
    fixture.write("c.toml", "stack = [\"tool\"]\n[tool.tool]\npath = \"libtool.so\"\nshare = [\"libnowhere.so.1\"]\n");
    let message = "tool `tool`: `share` names libnowhere.so.1, which the dynamic linker does not find";
    let run = ["run", "-c", "c.toml", "./orterun", "-n", "2", "./app"];
    for args in [&["env", "-c", "c.toml"][..], &["list", "-c", "c.toml"], &["run", "-c", "c.toml", "true"]] {
        let answer = fixture.qmpi(args);
        assert_eq!(answer.status, 0, "{answer:?}");
        hint(&answer, &format!("qmpi: warning: {message}"));
    }
    let answer = fixture.qmpi(run);
    answer.failure(2, &format!("{message}, and ./app does not bring it"));
    assert_eq!((answer.stdout.as_str(), answer.stderr.lines().count()), ("", 2), "{answer:?}");
    let answer = fixture.qmpi(["doctor", "-c", "c.toml", "--", "./orterun", "-n", "2", "./app"]);
    assert_eq!(answer.status, 3, "{answer:?}");
    assert!(answer.stdout.contains("fail  program") && answer.stdout.contains("does not bring it"), "{answer:?}");
    // As for each layer that cannot be set up.
    let answer = fixture.qmpi_with(run, &[("QMPI_ON_ERROR", "skip")]);
    assert_eq!(answer.status, 0, "{answer:?}");
    hint(&answer, &format!("warning: {message}"));
    // Preloaded it is there.
    let preload = fixture.library("libnowhere.so.1", "int somewhere;", &["-Wl,-soname,libnowhere.so.1"]);
    let answer = fixture.qmpi_with(run, &[("LD_PRELOAD", preload.to_str().unwrap())]);
    assert_eq!((answer.status, answer.stderr.as_str()), (0, ""), "{answer:?}");
    // The program has a search path of its own: its library, and one that this needs.
    for needed in ["-l:libnowhere.so.1", "-l:libother.so"] {
        let paths = ["-Wl,--no-as-needed", "-Wl,--disable-new-dtags", "-Wl,-rpath,$ORIGIN", "-L."];
        fixture.library("libother.so", "int other;", &[&paths[..], &["-l:libnowhere.so.1"]].concat());
        let program = "int MPI_Init(void *, void *); int main(void) { return MPI_Init(0, 0); }";
        fixture.compile("app", program, &[&paths[..], &["-l:libmpi.so.40", needed]].concat());
        let answer = fixture.qmpi(run);
        assert_eq!((answer.status, answer.stderr.as_str()), (0, ""), "{needed}: {answer:?}");
    }
}
