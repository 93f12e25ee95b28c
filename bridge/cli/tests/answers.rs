//! `qmpi inspect`, `list` and `doctor`: answers on stdout, for people and in JSON.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod support;

use serde_json::Value;
use support::{Fixture, golden};

fn json(text: &str) -> Value {
    let value: Value = serde_json::from_str(text).unwrap();
    assert_eq!(value["schema"], 1);
    value
}

#[test]
fn inspect_for_people() {
    let fixture = Fixture::with_tools();
    golden("inspect.txt", &fixture.qmpi(["inspect", "./libtool.so", "./libnative.so"]).success());
}

#[test]
fn inspect_in_json() {
    let fixture = Fixture::with_tools();
    let report = json(&fixture.qmpi(["inspect", "--json", "./libtool.so"]).success());
    let file = &report["files"][0];
    assert_eq!((file["path"].as_str(), file["kind"].as_str()), (Some("./libtool.so"), Some("PMPI")));
    assert_eq!(file["tool"]["intercepts"], serde_json::json!(["MPI_Init", "MPI_Send"]));
    assert_eq!(file["tool"]["way_down"], "pmpi-imports");
    assert_eq!(file["tool"]["mpi"], Value::Null);
}

#[test]
fn one_bad_file_does_not_hide_the_others() {
    let fixture = Fixture::with_tools();
    fixture.write("empty.so", "");
    let answer = fixture.qmpi(["inspect", "--json", "./empty.so", "./libtool.so"]);
    answer.failure(3, "./empty.so: is empty");
    let report = json(&answer.stdout);
    assert_eq!(report["files"][0]["kind"], Value::Null);
    assert!(report["files"][0]["error"]["hint"].is_string());
    assert_eq!(report["files"][1]["kind"], "PMPI");
    let answer = fixture.qmpi(["inspect", "./empty.so", "./libtool.so"]);
    answer.failure(3, "./empty.so: is empty");
    assert!(answer.stdout.starts_with("./libtool.so\n"), "{}", answer.stdout);
}

#[test]
fn inspect_an_mpi_library() {
    let fixture = Fixture::new();
    let source = "int MPI_Init(void *a, void *b) { return 0; } int PMPI_Init(void *a, void *b) { return 0; }
        const char ompi_version_string[] = \"Open MPI v9.8.7, package: none\"; int ompi_mpi_comm_world;";
    fixture.library("libmpi.so.40", source, &["-Wl,-soname,libmpi.so.40"]);
    let fortran = "int PMPI_Init(void *, void *); int mpi_init_(int *e) { return PMPI_Init(0, 0); }";
    fixture.library("libmpi_mpifh.so.40", fortran, &["-L.", "-l:libmpi.so.40"]);
    golden("inspect-mpi.txt", &fixture.qmpi(["inspect", "./libmpi.so.40"]).success());
    let report = json(&fixture.qmpi(["inspect", "--json", "./libmpi.so.40"]).success());
    assert_eq!(report["files"][0]["mpi"]["fortran_bindings"][0]["calls_pmpi"], 1);
}

#[test]
fn list_shows_layers_and_edges() {
    let fixture = Fixture::with_tools();
    let config = "stack = [\"outer\", \"native\", \"inner\"]
[tool.outer]
path = \"libtool.so\"
functions = [\"MPI_Send\"]
ranks = \"8,0-3\"
env = { MPIP = \"-k 2\" }
pcontrol = false
[tool.inner]
path = \"libtool.so\"
share = [\"libpapi.so.7\"]
[tool.native]
path = \"libnative.so\"
";
    fixture.write("qmpi.toml", config);
    golden("list.txt", &fixture.qmpi(["list", "-c", "qmpi.toml"]).success());
    let report = json(&fixture.qmpi(["list", "-c", "qmpi.toml", "--json"]).success());
    assert_eq!(report["intercepted"]["MPI_Send"], serde_json::json!(["outer", "inner"]));
    assert_eq!(report["edges"][0]["from"], "application");
    assert_eq!(fixture.qmpi(["list"]).success(), "stack (outermost first)\n  no tools\n");
}

#[test]
fn known_tools_bring_advice() {
    let fixture = Fixture::new();
    fixture.library("libmpiP.so", support::PMPI_TOOL, &[]);
    fixture.library("libdarshan.so", support::PMPI_TOOL, &[]);
    let text = fixture.qmpi(["list", "-t", "./libmpiP.so"]).success();
    assert!(text.contains("advice: settings for one instance"), "{text}");
    let answer = fixture.qmpi(["run", "--dry-run", "-t", "./libdarshan.so", "true"]);
    assert_eq!(answer.status, 0);
    assert!(answer.stderr.contains("warning: tool `libdarshan.so`: its POSIX module"), "{}", answer.stderr);
}

#[test]
fn doctor_answers_every_question() {
    let fixture = Fixture::with_tools();
    let answer = fixture.qmpi(["doctor", "--json"]);
    let report = json(&answer.stdout);
    let names: Vec<&str> =
        report["checks"].as_array().unwrap().iter().map(|check| check["name"].as_str().unwrap()).collect();
    for name in [
        "glibc",
        "kernel",
        "proc",
        "memfd",
        "runtime",
        "namespaces",
        "tunables",
        "preload",
        "mpi",
        "mpicc",
        "mpiexec",
        "stack",
    ] {
        assert!(names.contains(&name), "{name}");
    }
    assert_eq!(answer.status, if report["ok"] == true { 0 } else { 3 });
}

#[test]
fn doctor_fails_for_what_stops_a_run() {
    let fixture = Fixture::with_tools();
    for (name, value, check) in [
        ("QMPI_RUNTIME", "/nonexistent/libqmpi.so", "fail  runtime"),
        ("QMPI_TOOL_LIST", "a,,b", "fail  stack"),
        ("QMPI_TOOL_LIST", "./libqmpi.so", "fail  stack"),
    ] {
        let answer = fixture.qmpi_with(["doctor"], &[(name, value)]);
        assert_eq!((answer.status, answer.stderr.as_str()), (3, ""), "{name}");
        assert!(answer.stdout.contains(check), "{}", answer.stdout);
        assert!(answer.stdout.contains("hint: "), "{}", answer.stdout);
    }
}

#[test]
fn doctor_about_a_command_line() {
    let fixture = Fixture::with_tools();
    for name in ["orterun", "mpiexec.hydra", "srun"] {
        let file = fixture.write(name, "#!/bin/sh\n");
        std::fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    for (line, expected) in [
        (
            "./orterun --host a,b ./app",
            "ok    command     Open MPI does not pass LD_PRELOAD, QMPI_TOOL_LIST on to ranks on other hosts; `qmpi run` adds \
             -x LD_PRELOAD -x QMPI_TOOL_LIST\n                  hint: without `qmpi run` pass -x LD_PRELOAD -x QMPI_TOOL_LIST\n",
        ),
        ("./mpiexec.hydra -n 2 ./app", "ok    command     hydra passes the variables on to all ranks\n"),
        (
            "./mpiexec.hydra -genvnone -n 2 ./app",
            "hydra does not pass LD_PRELOAD, QMPI_TOOL_LIST on to ranks on other hosts",
        ),
        ("./srun --export=A ./app", "warn  command     srun is told to keep LD_PRELOAD, QMPI_TOOL_LIST from the ranks"),
        ("./libtool.so", "warn  command     ./libtool.so is no launcher that is known here"),
        ("./nowhere", "warn  command     ./nowhere: command not found"),
    ] {
        let answer = fixture.qmpi(["doctor", "--"].into_iter().chain(line.split(' ')));
        assert!(answer.stdout.contains(expected), "{line}\n{}", answer.stdout);
    }
}
