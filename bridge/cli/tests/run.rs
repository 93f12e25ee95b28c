//! `qmpi run` and `qmpi env`: what the child sees, and how it ends.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod support;

use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use support::{Fixture, OPEN_MPI_TOOL, PMPI_TOOL, golden};

const CONFIG: &str = r#"
stack = ["outer", "native", "outer"]
[tool.outer]
path = "libtool.so"
env = { MPIP = "-k 2" }
[tool.native]
path = "libnative.so"
"#;

#[test]
fn dry_run_shows_everything_and_runs_nothing() {
    let fixture = Fixture::with_tools();
    fixture.write("qmpi.toml", CONFIG);
    let args = ["run", "-c", "qmpi.toml", "--report=measured", "--dry-run", "touch", "a b", "it's"];
    let text = fixture.qmpi_with(args, &[("LD_PRELOAD", "libc.so.6 libmpi.so.40")]).success();
    golden("dry-run.txt", &text);
    assert!(!fixture.path().join("a b").exists());
    golden("dry-run-empty.txt", &fixture.qmpi(["run", "--dry-run", "true"]).success());
}

#[test]
fn the_child_sees_the_stack_and_its_status_is_ours() {
    let fixture = Fixture::with_tools();
    let script = "echo \"$QMPI_TOOL_LIST|$QMPI_LOG|$LD_PRELOAD|$1\"; exit 7";
    // Preloading the file that stands for the runtime fails with a complaint of the dynamic linker, and goes on.
    let answer =
        fixture.qmpi(["run", "-qt", "./libtool.so", "-t", "x=libtool.so", "--", "sh", "-c", script, "sh", "-t"]);
    assert_eq!(answer.status, 7);
    assert_eq!(answer.stdout, "$DIR/libtool.so,x=$DIR/libtool.so|error|$DIR/libqmpi.so|-t\n");
}

#[test]
fn a_list_left_over_wins_over_the_file_and_says_so() {
    let fixture = Fixture::with_tools();
    fixture.write("qmpi.toml", CONFIG);
    let variables = [("QMPI_TOOL_LIST", "./libnative.so"), ("TOOLS", "./libtool.so")];
    let answer = fixture.qmpi_with(["env", "-c", "qmpi.toml"], &variables);
    assert!(answer.stdout.starts_with("export QMPI_TOOL_LIST='$DIR/libnative.so'\n"), "{}", answer.stdout);
    assert!(answer.stderr.starts_with("qmpi: warning: QMPI_TOOL_LIST is set and wins"), "{}", answer.stderr);
    let text = fixture.qmpi_with(["env", "-t", "./libtool.so"], &variables).success();
    assert!(text.starts_with("export QMPI_TOOL_LIST='$DIR/libtool.so'\n"), "{text}");
    // The thesis's variable counts where nothing else does.
    let text = fixture.qmpi_with(["env"], &variables[1..]).success();
    assert!(text.starts_with("export QMPI_TOOL_LIST='$DIR/libtool.so'\n"), "{text}");
}

#[test]
fn an_empty_stack_is_the_runtime_alone() {
    let fixture = Fixture::new();
    let answer = fixture.qmpi(["run", "sh", "-c", "echo \"[$QMPI_TOOL_LIST]$LD_PRELOAD\""]);
    assert_eq!((answer.status, answer.stdout.as_str()), (0, "[]$DIR/libqmpi.so\n"));
}

#[test]
fn commands_that_do_not_start() {
    let fixture = Fixture::new();
    fixture.write("data", "no program");
    fixture.qmpi(["run", "-q", "no-such-program"]).failure(127, "no-such-program: command not found");
    fixture.qmpi(["run", "-q", "./no-such-program"]).failure(127, "./no-such-program: command not found");
    fixture.qmpi(["run", "-q", "./data"]).failure(126, "./data: cannot be executed");
    fixture.qmpi(["run", "-q", "/"]).failure(126, "/: cannot be executed");
    fixture.qmpi(["run", "-q", "libqmpi.so"]).failure(127, "libqmpi.so: command not found");
}

#[test]
fn env_survives_a_shell() {
    let fixture = Fixture::new();
    let name = "it's $HOME `x` \"y\".so";
    fixture.library("libtool.so", PMPI_TOOL, &[]);
    std::fs::copy(fixture.path().join("libtool.so"), fixture.path().join(name)).unwrap();
    let text = fixture.qmpi(["env", "-v", "--report=measured", "-t", &format!("./{name}")]).success();
    golden("env.txt", &text);
    let text = text.replace("$DIR", "/d") + "printf %s \"$QMPI_TOOL_LIST\"\n";
    // Exported last, so that the shell itself starts without it.
    let script = text.replace("export LD_PRELOAD", "export NOT_PRELOADED");
    let output = Command::new("sh").arg("-c").arg(script).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("/d/{name}"));
}

/// Each reads what is written for it, whatever is in a value.
#[test]
fn env_for_other_readers() {
    let fixture = Fixture::new();
    let name = "it's! $HOME [x] {y} \\ `z` \"w\".so";
    fixture.library("libtool.so", PMPI_TOOL, &[]);
    std::fs::copy(fixture.path().join("libtool.so"), fixture.path().join(name)).unwrap();
    let expected = fixture.path().canonicalize().unwrap().join(name).display().to_string();
    let run = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).current_dir(fixture.path()).output();
        let output = output.unwrap_or_else(|error| panic!("{program}: {error}: `ci/setup` installs it"));
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    for (syntax, program, source) in [
        ("sh", "bash", ". ./variables; printf %s \"$QMPI_TOOL_LIST\""),
        ("csh", "tcsh", "source ./variables; /usr/bin/printenv QMPI_TOOL_LIST"),
        ("fish", "fish", "source ./variables; printf %s $QMPI_TOOL_LIST"),
    ] {
        let text = fixture.qmpi(["env", "--shell", syntax, "-t", &format!("./{name}")]).success();
        // The shell itself goes on without it.
        let text = text.replace("$DIR", &fixture.path().canonicalize().unwrap().display().to_string());
        fixture.write("variables", text.replace("LD_PRELOAD", "NOT_PRELOADED"));
        let arguments: &[&str] = if program == "tcsh" { &["-f", "-c", source] } else { &["-c", source] };
        assert_eq!(run(program, arguments).trim_end_matches('\n'), expected, "{program}");
    }
    let text = fixture.qmpi(["env", "--shell", "json", "-t", &format!("./{name}")]).success();
    let object: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(object["QMPI_TOOL_LIST"], format!("$DIR/{name}"));
    assert_eq!(object["LD_PRELOAD"], "$DIR/libqmpi.so");

    // Others preload something as well, which stays, and comes first.
    let others = [("LD_PRELOAD", "/lib/x86_64-linux-gnu/libm.so.6")];
    let text = fixture.qmpi_with(["env", "--shell", "modulefile", "-t", &format!("./{name}")], &others).success();
    assert!(
        text.starts_with("#%Module1.0\n") && text.contains("\nappend-path LD_PRELOAD \"$DIR/libqmpi.so\"\n"),
        "{text}"
    );
    let commands = "proc module-whatis {text} {}\nproc append-path {name value} {}\nproc setenv {name value} { puts -nonewline $value }\n";
    let text = text.replace("$DIR", &fixture.path().canonicalize().unwrap().display().to_string());
    fixture.write("module.tcl", format!("{commands}{text}"));
    assert_eq!(run("tclsh", &["module.tcl"]), expected);
}

#[test]
fn more_than_fifteen_must_be_able_to_share() {
    let fixture = Fixture::with_tools();
    let list = |name: &str, count: usize| vec![name; count].join(",");
    fixture.qmpi(["env", "-t", &list("./libtool.so", 15), "-t", "./libnative.so"]).success();
    fixture.qmpi(["env", "-t", &list("./libtool.so", 100)]).success();
    // Each instance has a library of its own that calls MPI.
    fixture.library("libhelper.so", "int PMPI_Init(void *, void *); int help(void) { return PMPI_Init(0, 0); }", &[]);
    let tool = "int help(void); int PMPI_Init(void *, void *); int MPI_Init(void *a, void *b) { return help() + PMPI_Init(a, b); }";
    fixture.library("libdemanding.so", tool, &["-L.", "-l:libhelper.so", "-Wl,-rpath,$ORIGIN"]);
    fixture.qmpi(["env", "-t", &list("./libdemanding.so", 15)]).success();
    let line = "16 instances need a namespace of their own, and glibc has 15 for tools (libdemanding.so: its library";
    fixture.qmpi(["env", "-t", &list("./libdemanding.so", 16)]).failure(3, line);
    let audited = [("LD_AUDIT", "libnothing.so")];
    assert_eq!(fixture.qmpi_with(["list", "-t", &list("./libdemanding.so", 15)], &audited).status, 3);
    // On different ranks they are never together.
    let mut config = String::from("stack = [");
    (0..20).for_each(|i| write!(config, "\"t{i}\",").unwrap());
    config.push_str("]\n");
    (0..20).for_each(|i| writeln!(config, "[tool.t{i}]\npath = \"libtool.so\"\nranks = \"{i}-{}\"", i + 3).unwrap());
    fixture.write("ranks.toml", config);
    fixture.qmpi(["env", "-c", "ranks.toml"]).success();
}

#[test]
fn static_tls_of_all_instances_is_asked_for() {
    let fixture = Fixture::new();
    let source = format!("{PMPI_TOOL}\n__thread char room[200]; char *get(void) {{ return room; }}");
    fixture.library("libtls.so", &source, &["-ftls-model=initial-exec"]);
    let two = fixture.qmpi(["env", "-t", "./libtls.so,./libtls.so"]).success();
    assert!(!two.contains("GLIBC_TUNABLES"), "{two}");
    let variables = [("GLIBC_TUNABLES", "glibc.malloc.perturb=1")];
    let three = fixture.qmpi_with(["env", "-t", "./libtls.so,./libtls.so,./libtls.so"], &variables).success();
    assert!(three.contains("GLIBC_TUNABLES='glibc.malloc.perturb=1:glibc.rtld.optional_static_tls=1"), "{three}");
}

#[test]
fn a_layer_that_cannot_be_set_up_may_be_skipped() {
    let fixture = Fixture::with_tools();
    let list = [("QMPI_TOOL_LIST", "ghost,./libtool.so,./libqmpi.so"), ("QMPI_ON_ERROR", "skip")];
    let answer = fixture.qmpi_with(["env"], &list);
    assert_eq!(answer.status, 0);
    assert!(answer.stdout.starts_with("export QMPI_TOOL_LIST='$DIR/libtool.so'\n"), "{}", answer.stdout);
    assert_eq!(answer.stderr.matches("qmpi: warning: layer ").count(), 2, "{}", answer.stderr);
    // Of the ranks of a job, one speaks.
    let quiet = fixture.qmpi_with(["env"], &[list[0], list[1], ("PMI_RANK", "1")]);
    assert_eq!((quiet.status, quiet.stderr.as_str()), (0, ""));
}

/// Libraries and programs that look like two MPIs, so that the test needs none.
#[test]
fn a_tool_for_another_mpi() {
    let fixture = Fixture::new();
    let mpi = "int MPI_Init(void *a, void *b) { return 0; } int PMPI_Init(void *a, void *b) { return 0; }";
    fixture.library("libmpi.so.12", mpi, &["-Wl,-soname,libmpi.so.12"]);
    fixture.library("libtool.so", OPEN_MPI_TOOL, &[]);
    let program = "int MPI_Init(void *, void *); int main(void) { return MPI_Init(0, 0); }";
    fixture.compile("app", program, &["-L.", "-l:libmpi.so.12", "-Wl,-rpath,$ORIGIN"]);
    let answer = fixture.qmpi(["run", "-t", "./libtool.so", "env", "-i", "X=1", "./app"]);
    answer.failure(3, "tool `libtool.so`: $DIR/libtool.so is built for Open MPI, but ./app uses MPICH");
    // A tool that nothing ties to one works with both.
    fixture.library("libany.so", PMPI_TOOL, &[]);
    fixture.qmpi(["run", "--dry-run", "-t", "./libany.so", "./app"]).success();
    // Privileged programs ignore LD_PRELOAD.
    std::fs::set_permissions(fixture.path().join("app"), std::fs::Permissions::from_mode(0o4755)).unwrap();
    let answer = fixture.qmpi(["run", "--dry-run", "-t", "./libany.so", "./app"]);
    assert_eq!(answer.status, 0);
    assert!(answer.stderr.contains("warning: ./app is set-user-ID"), "{}", answer.stderr);
}

#[test]
fn mpi_inside_the_executable() {
    let fixture = Fixture::new();
    let source = "int PMPI_Init(void) { return 0; } int main(void) { return PMPI_Init(); }";
    fixture.compile("app", source, &["-static"]);
    fixture.qmpi(["run", "env", "./app"]).failure(3, "./app is linked statically with MPI");
    fixture.compile("plain", "int main(void) { return 0; }", &["-static"]);
    let answer = fixture.qmpi(["run", "./plain"]);
    assert_eq!(answer.status, 0);
    assert!(answer.stderr.contains("warning: ./plain is linked statically"), "{}", answer.stderr);
}

#[test]
fn a_32_bit_program() {
    let fixture = Fixture::new();
    let mut program = std::fs::read(fixture.compile("app", "int main(void) { return 0; }", &[])).unwrap();
    program[4] = 1; // EI_CLASS: ELFCLASS32
    std::fs::write(fixture.path().join("app"), program).unwrap();
    let answer = fixture.qmpi(["run", "--dry-run", "env", "./app"]);
    assert_eq!(answer.status, 0);
    assert!(answer.stderr.contains("warning: ./app is no 64-bit program of this machine"), "{}", answer.stderr);
}

/// A launcher in the directory, for what needs no MPI: which words are added, and where.
#[test]
fn a_launcher_is_told_to_pass_the_variables_on() {
    let fixture = Fixture::new();
    for (name, line, expected) in [
        ("orterun", "./orterun -n 2 ./a", "./orterun -x LD_PRELOAD -x QMPI_TOOL_LIST -n 2 ./a"),
        ("prterun", "env ./prterun ./a", "env ./prterun -x LD_PRELOAD -x QMPI_TOOL_LIST ./a"),
        ("mpiexec.hydra", "./mpiexec.hydra -n 2 ./a", "./mpiexec.hydra -n 2 ./a"),
    ] {
        let file = fixture.write(name, "#!/bin/sh\n");
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
        let words = ["run", "--dry-run"].into_iter().chain(line.split(' '));
        let text = fixture.qmpi(words).success();
        assert_eq!(text.lines().last().unwrap().trim(), expected, "{text}");
    }
}

#[test]
fn a_launcher_that_keeps_variables_is_told_otherwise() {
    let fixture = Fixture::with_tools();
    let file = fixture.write("srun", "#!/bin/sh\necho \"$@\"\n");
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
    let told = fixture.qmpi(["run", "-t", "./libtool.so", "./srun", "--export=NONE", "./a"]).stdout;
    assert_eq!(told, "--export=LD_PRELOAD,QMPI_TOOL_LIST ./a\n");
    let told =
        fixture.qmpi_with(["run", "-t", "./libtool.so", "./srun", "./a"], &[("SLURM_EXPORT_ENV", "NONE")]).stdout;
    assert_eq!(told, "--export=LD_PRELOAD,QMPI_TOOL_LIST ./a\n");
    let told = fixture.qmpi_with(["run", "-t", "./libtool.so", "./srun", "./a"], &[("SLURM_EXPORT_ENV", "ALL")]).stdout;
    assert_eq!(told, "./a\n");
    let lost = fixture.qmpi(["run", "-t", "./libtool.so", "./srun", "--export=ALL,LD_PRELOAD=x.so", "./a"]).stderr;
    assert!(lost.contains("the launcher is told to set LD_PRELOAD=x.so for ranks"), "{lost}");
}
