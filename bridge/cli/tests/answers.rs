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
share = [\"libm.so.6\"]
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
    let text = fixture.qmpi(["list", "-t", "./libmpiP.so"]).success();
    assert!(text.contains("advice: settings for one instance"), "{text}");
    // A name says nothing of what the file wraps.
    for name in ["libdarshan.so", "libTAU.so", "libscorep.so"] {
        fixture.library(name, support::PMPI_TOOL, &[]);
        let path = format!("./{name}");
        assert!(!fixture.qmpi(["inspect", path.as_str()]).success().contains("works in part"), "{name}");
    }
}

#[test]
fn tools_of_two_mpis() {
    let fixture = Fixture::new();
    fixture.library("libopen.so", support::OPEN_MPI_TOOL, &[]);
    let mpich = "extern int MPIR_F08_MPI_IN_PLACE; int PMPI_Barrier(int);
        int MPI_Barrier(int c) { return PMPI_Barrier(c + MPIR_F08_MPI_IN_PLACE); }";
    fixture.library("libmpich_tool.so", mpich, &[]);
    let message = "tool `libopen.so` is built for Open MPI and tool `libmpich_tool.so` for MPICH: no process has both";
    let tools = ["-t", "./libopen.so", "-t", "./libmpich_tool.so"];
    for command in [&["list"][..], &["env"], &["run", "--dry-run", "true"]] {
        let answer = fixture.qmpi(command[..1].iter().chain(&tools).chain(&command[1..]));
        answer.failure(3, message);
        assert_eq!(answer.stdout, "", "{command:?}");
    }
    let answer = fixture.qmpi(["list", "--json"].iter().chain(&tools));
    answer.failure(3, message);
    let report = json(&answer.stdout);
    assert_eq!((report["error"]["message"].as_str(), report["error"]["status"].as_u64()), (Some(message), Some(3)));
    assert!(report["error"]["hint"].is_string());
    // Any other error is in JSON, too.
    let report = json(&fixture.qmpi(["list", "--json", "-t", "./nowhere.so"]).stdout);
    assert!(report["error"]["message"].as_str().unwrap().contains("does not exist"), "{report}");
    // Those that are not for the process's MPI are left out there.
    let answer = fixture.qmpi_with(["list"].iter().chain(&tools), &[("QMPI_ON_ERROR", "skip")]);
    assert_eq!(answer.status, 0, "{answer:?}");
}

#[test]
fn output_that_instances_share() {
    let fixture = Fixture::new();
    let tool = |name: &str, constants: &[&str]| {
        let texts: Vec<String> = constants.iter().map(|text| format!("\"{text}\"")).collect();
        let source = format!("{}const char *const texts[] = {{ {} }};", support::PMPI_TOOL, texts.join(", "));
        fixture.library(name, &source, &[]);
    };
    // Whatever the files are called.
    tool("libprofile.so", &["%s/mpi_profile.%d.%d"]);
    tool("libtrace.so", &["DUMPI_CONF", "%s-%04d.%02d.%02d.%02d.%02d.%02d"]);
    tool("liblog.so", &["ProjPMPI.%d.log"]);
    tool("libmpitrace.so", &["something else"]);
    tool("libdates.so", &["%s-%04d.%02d.%02d.%02d.%02d.%02d"]);
    let warned = |tools: &[&str]| {
        let answer = fixture.qmpi(["list"].into_iter().chain(tools.iter().flat_map(|tool| ["-t", tool])));
        assert_eq!(answer.status, 0, "{answer:?}");
        answer.stderr
    };
    for (tool, files, hint) in [
        ("./libprofile.so", "mpi_profile.JOB.RANK", "TRACE_DIR"),
        ("./libtrace.so", "dumpi-TIME-RANK.bin", "DUMPI_CONF"),
        ("./liblog.so", "ProjPMPI.RANK.log", "once"),
    ] {
        let text = warned(&[tool, tool]);
        let name = tool.trim_start_matches("./");
        let message = format!(
            "warning: tools `{name}` and `{name}#2` write the same files unless they are told otherwise: {files}"
        );
        assert!(text.contains(&message) && text.contains(hint) && text.lines().count() == 2, "{text}");
        assert_eq!(warned(&[tool]), "");
    }
    assert_eq!(warned(&["./libmpitrace.so", "./libmpitrace.so"]), "");
    assert_eq!(warned(&["./libdates.so", "./libdates.so"]), "");
    assert_eq!(warned(&["./libprofile.so", "./libtrace.so", "./liblog.so"]), "");
    let config = |env: &str, ranks: &str| {
        let text = format!(
            "stack = [\"a\", \"b\"]\n[tool.a]\npath = \"libprofile.so\"\n{ranks}\n[tool.b]\npath = \"libprofile.so\"\n{env}\n"
        );
        fixture.write("qmpi.toml", text);
        fixture.qmpi(["list", "-c", "qmpi.toml"]).stderr
    };
    assert!(config("", "").contains("tools `a` and `b`"));
    assert_eq!(config("env = { TRACE_DIR = \"b\" }", ""), "");
    assert_eq!(config("ranks = \"1-3\"", "ranks = \"0\""), "");
    assert!(config("ranks = \"1-3\"", "ranks = \"3-5\"").contains("tools `a` and `b`"));
}

#[test]
fn tools_that_read_environ() {
    let fixture = Fixture::new();
    let source = format!("{} extern char **environ; char *first(void) {{ return environ[0]; }}", support::PMPI_TOOL);
    fixture.library("libscans.so", &source, &[]);
    assert!(fixture.qmpi(["inspect", "./libscans.so"]).success().contains("through `environ`"));
    fixture.qmpi(["list", "-t", "./libscans.so"]).success();
    fixture.write("qmpi.toml", "stack = [\"x\"]\n[tool.x]\npath = \"libscans.so\"\nenv = { A = \"b\" }\n");
    // A layer with variables has an `environ` of its own.
    assert_eq!(fixture.qmpi(["list", "-c", "qmpi.toml"]).success().matches("environ").count(), 0);
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
        ("./srun --export=A ./app", "`qmpi run` adds --export=A,LD_PRELOAD,QMPI_TOOL_LIST"),
        ("./libtool.so", "warn  command     ./libtool.so is no launcher that is known here"),
        ("./nowhere", "warn  command     ./nowhere: command not found"),
    ] {
        let answer = fixture.qmpi(["doctor", "--"].into_iter().chain(line.split(' ')));
        assert!(answer.stdout.contains(expected), "{line}\n{}", answer.stdout);
    }
}
