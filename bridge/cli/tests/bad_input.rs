//! Tools, lists, files and runtimes that are wrong: status 3, one line that says what, one hint.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod support;

use std::path::Path;

use support::{Fixture, PMPI_TOOL};

/// Every file that is no tool, and a part of what must be said about it. For `run` and `inspect` alike.
fn bad_files(fixture: &Fixture) -> Vec<(&'static str, &'static str)> {
    let tool = std::fs::read(fixture.path().join("libtool.so")).unwrap();
    fixture.write("empty.so", "");
    fixture.write("text.so", "hello\n");
    fixture.write("script.so", "#!/bin/sh\n");
    fixture.write("ldscript.so", "/* GNU ld script */\nINPUT(libx.so.1)\n");
    fixture.write("archive.so", "!<arch>\n");
    fixture.write("random.so", [0x80, 1, 2, 3, 4, 5]);
    fixture.write("truncated.so", &tool[..tool.len() / 8]);
    fixture.write("header.so", &tool[..32]);
    let patched = |offset: usize, byte: u8| {
        let mut copy = tool.clone();
        copy[offset] = byte;
        copy
    };
    fixture.write("class32.so", patched(4, 1));
    fixture.write("bigendian.so", patched(5, 2));
    fixture.write("sparc.so", patched(18, 43));
    fixture.compile("object.o", PMPI_TOOL, &["-c"]);
    fixture.compile("program", "int main(void) { return 0; }", &[]);
    std::fs::create_dir(fixture.path().join("directory.so")).unwrap();
    vec![
        ("empty.so", "is empty"),
        ("text.so", "not an ELF file but a text file"),
        ("script.so", "not an ELF file but a script"),
        ("ldscript.so", "not an ELF file but a linker script"),
        ("archive.so", "not an ELF file but a static library"),
        ("random.so", "not an ELF file"),
        ("truncated.so", ""),
        ("header.so", "truncated"),
        ("class32.so", "32-bit"),
        ("bigendian.so", "big-endian"),
        ("sparc.so", "built for"),
        ("object.o", "a relocatable object"),
        ("program", "an executable, not a shared object"),
        ("directory.so", "is a directory"),
        ("nowhere.so", "no"),
    ]
}

#[test]
fn files_that_are_no_tool() {
    let fixture = Fixture::with_tools();
    for (file, message) in bad_files(&fixture) {
        let path = format!("./{file}");
        for command in [&["run", "-t", &path, "true"][..], &["env", "-t", &path], &["list", "-t", &path]] {
            let answer = fixture.qmpi(command);
            let message = if file == "nowhere.so" { "does not exist" } else { message };
            answer.failure(3, message);
            answer.failure(3, &format!("tool `{file}`: "));
            assert_eq!(answer.stdout, "", "{command:?}");
        }
        let answer = fixture.qmpi(["inspect", &path]);
        if file == "program" {
            // No tool, but it can be inspected.
            assert_eq!(answer.status, 0, "{answer:?}");
            continue;
        }
        answer.failure(3, message);
        answer.failure(3, file);
    }
}

#[test]
fn shared_objects_that_are_no_tool() {
    let fixture = Fixture::new();
    fixture.library("libplain.so", "int f(void) { return 1; }", &[]);
    fixture
        .qmpi(["run", "-t", "./libplain.so", "true"])
        .failure(3, "libplain.so is not an MPI tool: it defines no MPI");
    fixture.library("libmpi.so.40", "int MPI_Init(void *a, void *b) { return 0; }", &["-Wl,-soname,libmpi.so.40"]);
    fixture.qmpi(["run", "-t", "./libmpi.so.40", "true"]).failure(3, "libmpi.so.40 is an MPI library, not a tool");
    fixture.library("libdep.so", "int dep(void) { return 1; }", &[]);
    let source = format!("{PMPI_TOOL}\nint dep(void); int use(void) {{ return dep(); }}");
    fixture.library("libneeds.so", &source, &["-L.", "-ldep"]);
    std::fs::remove_file(fixture.path().join("libdep.so")).unwrap();
    let answer = fixture.qmpi(["run", "-t", "./libneeds.so", "true"]);
    answer.failure(3, "libneeds.so needs libdep.so, which is not found");
}

#[test]
fn names_lists_and_variables() {
    let fixture = Fixture::with_tools();
    let here = fixture.path().to_str().unwrap();
    let search = ("QMPI_TOOL_PATH", here);
    fixture.qmpi(["run", "-t", "ghost", "true"]).failure(3, "no tool `ghost` found in the linker's path");
    let answer = fixture.qmpi_with(["run", "-t", "tol", "true"], &[search]);
    answer.failure(3, "no tool `tol` found in $DIR, the linker's path");
    assert!(answer.stderr.ends_with("hint: did you mean `tool`?\n"), "{}", answer.stderr);
    fixture.qmpi_with(["env", "-t", "tool"], &[search]).success();
    for (name, value, message) in [
        ("QMPI_TOOL_LIST", "a,", "QMPI_TOOL_LIST: element 2 is empty"),
        ("QMPI_TOOL_LIST", "a:=/x", "QMPI_TOOL_LIST: element 2 (`=/x`) has no name"),
        ("QMPI_ON_ERROR", "ignore", "QMPI_ON_ERROR=ignore is none of abort, skip"),
        ("QMPI_LOG", "9", "QMPI_LOG=9 is none of error, warn, info, debug"),
        ("QMPI_CONFIG", "/nonexistent.toml", "cannot read the configuration file /nonexistent.toml"),
        ("QMPI_RUNTIME", "/nonexistent/libqmpi.so", "QMPI_RUNTIME: /nonexistent/libqmpi.so is no file"),
    ] {
        fixture.qmpi_with(["run", "true"], &[(name, value)]).failure(3, message);
    }
}

#[test]
fn configuration_files() {
    let fixture = Fixture::with_tools();
    for (text, message) in [
        ("stack = [", "$DIR/c.toml:1: "),
        ("\nstak = []", "$DIR/c.toml:2: unknown key `stak`"),
        ("[tool.a]\npth = 1", "$DIR/c.toml:2: unknown key `tool.a.pth`"),
        ("[tool.a]\nranks = \"x\"", "$DIR/c.toml:2: `tool.a.ranks`: `x` is neither a rank nor a range"),
        ("[tool.a]\nfunctions = [\"MPI_send\"]", "`tool.a.functions`: `MPI_send` is no MPI function"),
        ("stack = [\"ghost\"]", "no tool `ghost` found"),
        ("stack = [\"a\"]\n[tool.a]\npath = \"x.so\"", "tool `a`: $DIR/x.so does not exist"),
    ] {
        fixture.write("c.toml", text);
        fixture.qmpi(["run", "-c", "c.toml", "true"]).failure(3, message);
    }
    fixture.write("c.toml", [0xff, 0xfe]);
    fixture.qmpi(["list", "-c", "c.toml"]).failure(3, "cannot read the configuration file $DIR/c.toml");
    fixture.qmpi(["list", "-c", "."]).failure(3, "cannot read the configuration file $DIR");
}

#[test]
fn paths_that_a_variable_cannot_carry() {
    let fixture = Fixture::with_tools();
    let copy = |name: &str| std::fs::copy(fixture.path().join("libtool.so"), fixture.path().join(name)).unwrap();
    std::fs::create_dir(fixture.path().join("a:b")).unwrap();
    copy("a:b/libtool.so");
    fixture.write("c.toml", "stack = [\"x\"]\n[tool.x]\npath = \"a:b/libtool.so\"");
    let text = fixture.qmpi(["env", "-c", "c.toml"]).success();
    assert!(text.starts_with("export QMPI_TOOL_LIST='x'\nexport QMPI_CONFIG='$DIR/c.toml'\n"), "{text}");
    let tool_path = [("QMPI_TOOL_PATH", "d,e")];
    std::fs::create_dir(fixture.path().join("d,e")).unwrap();
    copy("d,e/libtool.so");
    fixture.qmpi_with(["env", "-t", "tool"], &tool_path).failure(3, "d,e/libtool.so cannot be passed on");
    std::fs::create_dir(fixture.path().join("f g")).unwrap();
    std::fs::copy(fixture.path().join("libqmpi.so"), fixture.path().join("f g/libqmpi.so")).unwrap();
    fixture.qmpi_with(["env"], &[("QMPI_RUNTIME", "f g/libqmpi.so")]).failure(3, "cannot be preloaded");
}

#[test]
fn no_runtime() {
    let fixture = Fixture::new();
    // A copy of the command with nothing beside it.
    let bin = fixture.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_qmpi"), bin.join("qmpi")).unwrap();
    let run = |command: &Path| {
        let output = std::process::Command::new(command).args(["env"]).env_remove("QMPI_RUNTIME").output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (status, stderr) = run(&bin.join("qmpi"));
    assert_eq!(status, Some(3));
    assert!(stderr.starts_with("qmpi: error: libqmpi.so not found: no ") && stderr.lines().count() == 2, "{stderr}");
    // Installed: the library is in lib/, and a link to the command leads there.
    std::fs::create_dir(fixture.path().join("lib")).unwrap();
    fixture.write("lib/libqmpi.so", "");
    std::os::unix::fs::symlink(bin.join("qmpi"), fixture.path().join("link")).unwrap();
    assert_eq!(run(&fixture.path().join("link")), (Some(0), String::new()));
}
