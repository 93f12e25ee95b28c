//! Tools of several files (`with`): what they do is what they do as a list in `LD_PRELOAD`.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::Failed;
use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, foreign, on_each_mpi, product, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("alone", &Mpi::ALL, alone),
        ("above_below_and_twice", &Mpi::ALL, above_below_and_twice),
        ("as_many_as_namespaces", &Mpi::ALL, as_many_as_namespaces),
        ("looked_up", &Mpi::ALL, looked_up),
        ("inspected", &Mpi::ALL, inspected),
        ("bad_files", &Mpi::ALL, bad_files),
        ("left_out", &Mpi::ALL, left_out),
        ("for_pmpi_tools_only", &Mpi::ALL, for_pmpi_tools_only),
    ])
}

const FILES: [&str; 3] = ["several_files_a", "several_files_b", "several_files"];

/// The three files of the tool, in the order in which they are preloaded.
fn files(mpi: Mpi) -> [PathBuf; 3] {
    let last = tool(mpi, "several_files");
    FILES.map(|name| last.with_file_name(format!("{name}.so")))
}

fn ring(mpi: Mpi) -> Job {
    Job::new(mpi, 2, &program(mpi, "ring.c"))
}

/// What rank 0 of the preloaded tool prints.
fn preloaded(mpi: Mpi) -> Result<String, Failed> {
    let files = files(mpi);
    let outcome = files.iter().fold(ring(mpi), |job, file| job.preload(file)).run();
    outcome.expect(0, &["done".to_owned()])?;
    let said = said(&outcome);
    // The files' order among the constructors is ld.so's; the chain of MPI_Send is what the tool is about.
    if said.len() != 1
        || !said[0].contains("send=abtabtabt recv=bbb barrier=aa first=several_files_a.so,several_files_b.so")
    {
        return Err(format!("preloaded: {said:?}\n{}", outcome.report()).into());
    }
    Ok(said[0].clone())
}

fn said(outcome: &Outcome) -> Vec<String> {
    outcome.stdout.lines().filter(|line| line.starts_with("tool ")).map(str::to_owned).collect()
}

fn destroyed(outcome: &Outcome) -> Vec<String> {
    outcome.lines().into_iter().filter(|line| line.starts_with("destroyed ")).map(str::to_owned).collect()
}

struct Config {
    directory: tempfile::TempDir,
}

impl Config {
    fn new() -> Result<Config, Failed> {
        Ok(Config { directory: tempfile::tempdir()? })
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A file with this stack, in which `t` is the tool of several files.
    fn write(&self, mpi: Mpi, stack: &[&str]) -> Result<PathBuf, Failed> {
        let tool_of_files = &files(mpi)[2];
        let mut text = format!("stack = {stack:?}\n");
        let _ = writeln!(
            text,
            "[tool.t]\npath = {tool_of_files:?}\nwith = [\"several_files_a.so\", \"several_files_b.so\"]"
        );
        let _ = writeln!(
            text,
            "[tool.counter]\npath = {:?}\nenv = {{ COUNTER = \"file=/dev/null\" }}",
            tool(mpi, "counter")
        );
        let path = self.at("qmpi.toml");
        std::fs::write(&path, text)?;
        Ok(path)
    }
}

fn expect(outcome: &Outcome, expected: &[String]) -> Verdict {
    outcome.expect(0, &["done".to_owned()])?;
    if said(outcome) != expected || !outcome.said().is_empty() {
        return Err(format!("not {expected:?}\n{}", outcome.report()).into());
    }
    Ok(())
}

fn alone(mpi: Mpi) -> Verdict {
    let line = preloaded(mpi)?;
    let config = Config::new()?;
    let file = config.write(mpi, &["t"])?;
    expect(&ring(mpi).config(&file).run(), std::slice::from_ref(&line))?;
    let by_hand = ring(mpi).preload(&product::runtime()).env("QMPI_CONFIG", file.display().to_string()).run();
    expect(&by_hand, &[line])?;
    let outcome = Job::alone(mpi, &program(mpi, "ring.c")).config(&file).run();
    if destroyed(&outcome) != ["destroyed a", "destroyed b", "destroyed t"] {
        return Err(format!("not each file is destroyed once\n{}", outcome.report()).into());
    }
    Ok(())
}

fn above_below_and_twice(mpi: Mpi) -> Verdict {
    let line = preloaded(mpi)?;
    let config = Config::new()?;
    for stack in [&["t", "counter"][..], &["counter", "t"], &["counter", "t", "counter"]] {
        expect(&ring(mpi).config(&config.write(mpi, stack)?).run(), std::slice::from_ref(&line))?;
    }
    // The inner one also sees the MPI_Barrier of the outer one's end.
    let outcome = ring(mpi).config(&config.write(mpi, &["t", "counter", "t"])?).run();
    let inner = line.replace("barrier=aa", "barrier=aaa");
    expect(&outcome, &[line, inner])
}

/// One more than glibc has namespaces, as clones of it are not possible: the reason is said.
fn as_many_as_namespaces(mpi: Mpi) -> Verdict {
    let config = Config::new()?;
    let outcome = ring(mpi).config(&config.write(mpi, &["t"; 16])?).run();
    let reason = "it is loaded together with several_files_a.so";
    if outcome.status != 3 || !outcome.stderr.contains(reason) {
        return Err(format!("not refused as {reason:?}\n{}", outcome.report()).into());
    }
    // Others are clones instead.
    let mut stack = ["counter"; 18];
    stack[9] = "t";
    let line = preloaded(mpi)?;
    expect(&ring(mpi).config(&config.write(mpi, &stack)?).run(), &[line])
}

/// Relative to the configuration file, and by the linker's path.
fn looked_up(mpi: Mpi) -> Verdict {
    let line = preloaded(mpi)?;
    let config = Config::new()?;
    let [a, b, last] = files(mpi);
    std::fs::create_dir(config.at("parts"))?;
    std::fs::copy(a, config.at("parts/a.so"))?;
    std::fs::create_dir(config.at("elsewhere"))?;
    std::fs::copy(b, config.at("elsewhere/only_elsewhere.so"))?;
    let text =
        format!("stack = [\"t\"]\n[tool.t]\npath = {last:?}\nwith = [\"./parts/a.so\", \"only_elsewhere.so\"]\n");
    std::fs::write(config.at("qmpi.toml"), text)?;
    let path = config.at("elsewhere").display().to_string();
    let outcome = ring(mpi).env("LD_LIBRARY_PATH", path).config(&config.at("qmpi.toml")).run();
    let line = line.replace("several_files_a.so,several_files_b.so", "a.so,only_elsewhere.so");
    expect(&outcome, &[line])
}

fn qmpi(words: &[&str]) -> Result<String, Failed> {
    let output = Command::new(product::command()).args(words).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(text) } else { Err(format!("qmpi {words:?}: {text}{errors}").into()) }
}

fn inspected(mpi: Mpi) -> Verdict {
    let [a, b, last] = files(mpi).map(|path| path.display().to_string());
    let config = Config::new()?;
    let file = config.write(mpi, &["t", "counter"])?.display().to_string();
    let list = qmpi(&["list", "-c", &file])?;
    let json = qmpi(&["list", "-c", &file, "--json"])?;
    // MPI_Barrier is in the first file only, and no file has an undefined symbol.
    for (text, part) in [
        (&list, format!("loaded with {a}, {b}")),
        (&list, "application -> t: 5 functions: MPI_Barrier, MPI_Finalize, MPI_Recv, MPI_Send".replace('5', "4")),
        (&json, format!("\"with\": [\n        \"{a}\",\n        \"{b}\"\n      ]")),
    ] {
        if !text.contains(&part) {
            return Err(format!("{part:?} is not in\n{text}").into());
        }
    }
    let lone = qmpi(&["inspect", &last])?;
    let whole = qmpi(&["inspect", "--with", &a, "--with", &b, &last])?;
    if !lone.contains("several_files_note")
        || whole.contains("several_files_note")
        || !whole.contains("several_files_a.so, ")
    {
        return Err(format!("alone\n{lone}\ntogether\n{whole}").into());
    }
    Ok(())
}

/// One line with the file and the reason, and a hint, on the desk and in the process.
fn refused(mpi: Mpi, text: &str, file: &Path, parts: &[&str]) -> Verdict {
    std::fs::write(file, text)?;
    let job = Job::alone(mpi, &program(mpi, "early.c"));
    let by_hand = job.clone().preload(&product::runtime()).env("QMPI_CONFIG", file.display().to_string());
    for outcome in [job.config(file).run(), by_hand.run()] {
        let lines: Vec<&str> = outcome.stderr.lines().collect();
        let right = matches!(lines[..], [reason, hint]
            if reason.starts_with("qmpi: error: ") && parts.iter().all(|part| reason.contains(part))
                && hint.starts_with("qmpi: hint: ") && hint.len() > 20);
        if outcome.status != 3 || !outcome.stdout.is_empty() || !right {
            return Err(format!("not one line that has {parts:?} and one hint\n{}", outcome.report()).into());
        }
    }
    Ok(())
}

fn bad_files(mpi: Mpi) -> Verdict {
    let config = Config::new()?;
    let [a, _, last] = files(mpi);
    let mut machine = std::fs::read(&a)?;
    machine[18] = foreign::MACHINE;
    std::fs::write(config.at("machine.so"), machine)?;
    std::fs::write(config.at("text.so"), "hello\n")?;
    let program_file = program(mpi, "early.c").display().to_string();
    let needs = config.at("needs.so");
    std::fs::copy(tool(mpi, "closure"), &needs)?;
    let library = if mpi == Mpi::OpenMpi { "libmpi.so.40" } else { "libmpich.so.12" };
    for (with, parts) in [
        ("nowhere.so", &["`t`", "`with` names nowhere.so", "linker's path"][..]),
        ("./nowhere.so", &["`t`", "nowhere.so, which does not exist"]),
        ("./", &["`t`", "is a directory"]),
        ("./text.so", &["text.so", "not an ELF file"]),
        ("./machine.so", &["machine.so", foreign::SAID]),
        ("./needs.so", &["closure_helper.so", "not found"]),
        (&program_file, &["early", "not a shared object"]),
        (library, &["MPI library, not a tool"]),
    ] {
        let text = format!("stack = [\"t\"]\n[tool.t]\npath = {last:?}\nwith = [{with:?}]\n");
        refused(mpi, &text, &config.at("qmpi.toml"), parts)?;
    }
    Ok(())
}

/// The job runs without the layer if the user says so.
fn left_out(mpi: Mpi) -> Verdict {
    let config = Config::new()?;
    let text = format!("stack = [\"t\"]\n[tool.t]\npath = {:?}\nwith = [\"nowhere.so\"]\n", files(mpi)[2]);
    std::fs::write(config.at("qmpi.toml"), text)?;
    let outcome = ring(mpi).env("QMPI_ON_ERROR", "skip").config(&config.at("qmpi.toml")).run();
    outcome.expect(0, &["done".to_owned()])?;
    if !said(&outcome).is_empty() || !outcome.stderr.contains("`with` names nowhere.so") {
        return Err(format!("not left out\n{}", outcome.report()).into());
    }
    Ok(())
}

/// Tools of other kinds have no namespace.
fn for_pmpi_tools_only(mpi: Mpi) -> Verdict {
    let config = Config::new()?;
    let a = &files(mpi)[0];
    let path = tool(mpi, "qmpi_counter");
    let section = |line: &str| format!("stack = [\"counter\"]\n[tool.counter]\npath = {path:?}\n{line}\n");
    let parts = ["qmpi_counter.so", "is for PMPI tools", "a QMPI tool"];
    refused(mpi, &section(&format!("with = [{a:?}]")), &config.at("qmpi.toml"), &parts)?;
    refused(mpi, &section("own_calls = \"hidden\""), &config.at("qmpi.toml"), &parts)?;
    let text = "stack = [\"x\"]\n[tool.x]\nregistered = true\nown_calls = \"hidden\"\n";
    refused(mpi, text, &config.at("qmpi.toml"), &["`own_calls`", "registers"])
}
