//! Settings and programs with which tools cannot work, or seem not to: nothing is lost in silence, and what works under plain
//! `LD_PRELOAD` works.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use libtest_mimic::Failed;
use qmpi_tests::against::{Failures, same, stacked};
use qmpi_tests::measured::Measured;
use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, compile, on_each_mpi, product, program, tool, wheel};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("set_user_id", &Mpi::ALL, |mpi| privileged(mpi, Privilege::UserId)),
        ("file_capabilities", &Mpi::ALL, |mpi| privileged(mpi, Privilege::Capabilities)),
        ("runtime_that_is_no_library", &Mpi::ALL, runtime_that_is_no_library),
        ("core_of_another_build", &Mpi::ALL, core_of_another_build),
        ("comma_in_a_path", &Mpi::ALL, comma_in_a_path),
        ("executable_in_tools", &Mpi::ALL, executable_in_tools),
        ("survey_in_the_environment", &Mpi::ALL, survey_in_the_environment),
        ("registers_twice", &Mpi::ALL, registers_twice),
        ("statistics_of_many_layers", &Mpi::ALL, statistics_of_many_layers),
    ])
}

const RIGHT: &str = "asks_size: 1";

/// Two libraries of which only the number of the build differs: one line says so, and nothing of a stack is set up.
fn core_of_another_build(mpi: Mpi) -> Verdict {
    const MARK: &[u8] = b"qmpi build ";
    let directory = tempfile::tempdir()?;
    let runtime = directory.path().join("libqmpi.so");
    let core = "libqmpi_core.so";
    std::fs::copy(product::runtime().with_file_name(core), directory.path().join(core))?;
    let mut bytes = std::fs::read(product::runtime())?;
    let tool = tool(mpi, "base_tool").display().to_string();
    let job = Job::alone(mpi, &program(mpi, "asks_size.c")).env("QMPI_RUNTIME", runtime.display().to_string());
    std::fs::write(&runtime, &bytes)?;
    job.clone().stack(&[&tool]).run().expect(0, &[RIGHT.to_owned()])?;
    let places: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(MARK)).collect();
    let [place] = places[..] else { return Err(format!("the build stands at {places:?}").into()) };
    let digit = &mut bytes[place + MARK.len() + 15];
    *digit = if *digit == b'0' { b'1' } else { b'0' };
    std::fs::write(&runtime, &bytes)?;
    let by_hand = job.clone().preload(&runtime).env("QMPI_TOOL_LIST", &*tool);
    for outcome in [job.stack(&[&tool]).run(), by_hand.run()] {
        let said = outcome.said();
        let right = matches!(said[..], [reason, hint]
            if reason == "qmpi: error: libqmpi_core.so is not of the same build as libqmpi.so" && hint.starts_with("qmpi: hint: "));
        if outcome.status != 3 || !outcome.stdout.is_empty() || !right {
            return Err(format!("not refused by one line\n{}", outcome.report()).into());
        }
    }
    Ok(())
}

/// Why the dynamic linker ignores `LD_PRELOAD`.
#[derive(Clone, Copy, PartialEq)]
enum Privilege {
    UserId,
    Capabilities,
}

/// Plain `LD_PRELOAD`: the tool is not loaded, without a word. `qmpi run` and `qmpi doctor` know beforehand, and say why.
fn privileged(mpi: Mpi, how: Privilege) -> Verdict {
    let directory = tempfile::tempdir()?;
    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755))?;
    let copy = directory.path().join("privileged");
    std::fs::copy(program(mpi, "asks_size.c"), &copy)?;
    let reason = match how {
        Privilege::UserId => {
            std::fs::set_permissions(&copy, PermissionsExt::from_mode(0o4755))?;
            "set-user-ID"
        }
        Privilege::Capabilities => {
            std::fs::set_permissions(&copy, PermissionsExt::from_mode(0o755))?;
            succeed(Command::new("/usr/sbin/setcap").arg("cap_net_bind_service+ep").arg(&copy))?;
            "capabilities"
        }
    };
    let tool = tool(mpi, "base_tool").display().to_string();
    let mut failures = Failures::default();
    for command in ["run", "doctor"] {
        let mut line = Command::new(product::command());
        line.arg(command);
        if command == "run" {
            line.args(["--dry-run", "-t", &tool]);
        }
        let output = line.arg("--").arg(&copy).envs(mpi.variables()).output()?;
        let text = both(&output);
        let says = |line: &&str| line.contains("privileged") && line.contains(reason) && line.contains("LD_PRELOAD");
        if text.lines().find(says).is_none() {
            failures.note(Err(format!("qmpi {command}: no line on {reason} and LD_PRELOAD\n{text}")));
        }
    }
    failures.verdict()
}

fn both(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn succeed(command: &mut Command) -> Verdict {
    let output = command.output().map_err(|error| format!("{command:?}: {error}: run `bash ci/setup`"))?;
    if output.status.success() { Ok(()) } else { Err(format!("{command:?}: {}", both(&output)).into()) }
}

/// Refused with one error that has `parts`, and one hint, before the program starts.
fn refused(outcome: &Outcome, parts: &[&str]) -> Result<(), String> {
    let said = outcome.said();
    let right = matches!(said[..], [reason, hint] if reason.starts_with("qmpi: error: ")
        && parts.iter().all(|part| reason.contains(part)) && hint.starts_with("qmpi: hint: "));
    if outcome.status == 3 && outcome.stdout.is_empty() && right {
        return Ok(());
    }
    Err(format!("not status 3 with one error that has {parts:?} and one hint\n{}", outcome.report()))
}

/// Plain `LD_PRELOAD` of such a file: the dynamic linker says on stderr that it is ignored. Here the whole stack would be.
fn runtime_that_is_no_library(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let tool = tool(mpi, "base_tool").display().to_string();
    let text = directory.path().join("libqmpi.so");
    std::fs::write(&text, "hello\n")?;
    let cut = directory.path().join("cut.so");
    let runtime = std::fs::read(product::runtime())?;
    // The headers are there, the segments end beyond the file.
    std::fs::write(&cut, &runtime[..4096])?;
    let mut failures = Failures::default();
    // A text, a part of a library, a program, a library that is not libqmpi.so.
    for path in [text, cut, PathBuf::from("/bin/ls"), PathBuf::from(&tool)] {
        let path = path.display().to_string();
        let job = Job::alone(mpi, &program(mpi, "asks_size.c")).env("QMPI_RUNTIME", &path);
        failures.note(refused(&job.stack(&[&tool]).run(), &["QMPI_RUNTIME", &path]));
    }
    failures.verdict()
}

/// Plain `LD_PRELOAD`: the tool works. In a list a comma separates; a path with one has to work all the same, or to be refused as such.
fn comma_in_a_path(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let inner = directory.path().join("c,omma");
    std::fs::create_dir(&inner)?;
    let copy = inner.join("t.so");
    std::fs::copy(tool(mpi, "base_tool"), &copy)?;
    let job = Job::alone(mpi, &program(mpi, "asks_size.c"));
    let plain = job.clone().preload(&copy).run();
    plain.expect(0, &[RIGHT.to_owned(), "tool base_tool: ok calls=2".to_owned()])?;
    let name = copy.display().to_string();
    let outcome = job.stack(&[&name]).run();
    let Err(differs) = same("qmpi run", &plain, &outcome) else { return Ok(()) };
    Ok(refused(&outcome, &[&name, "`,`"]).map_err(|reason| format!("{differs}\nand {reason}"))?)
}

/// Plain `LD_PRELOAD` has no such variable: TOOLS may be anything. What is no shared object is passed over with one line.
fn executable_in_tools(mpi: Mpi) -> Verdict {
    let job = Job::alone(mpi, &program(mpi, "asks_size.c")).preload(&product::runtime());
    let mut failures = Failures::default();
    for value in ["/bin/ls", "/bin/ls:/bin/cat", "/etc/passwd"] {
        let outcome = job.clone().env("TOOLS", value).run();
        let said = outcome.said();
        let warned = matches!(said[..], [line] if line.starts_with("qmpi: warning: ") && line.contains("TOOLS"))
            || matches!(said[..], [line, hint] if line.contains("TOOLS") && hint.starts_with("qmpi: hint: "));
        if outcome.status != 0 || outcome.lines() != [RIGHT] || !warned {
            failures.note(Err(format!("TOOLS={value}: not passed over with one line\n{}", outcome.report())));
        }
        // Without MPI nothing is read.
        let outcome = Job::alone(mpi, &compile::program(mpi, "five.c")).preload(&product::runtime());
        failures.note(
            outcome.env("TOOLS", value).run().expect(5, &[]).map_err(|reason| format!("TOOLS={value}: {reason}")),
        );
    }
    failures.verdict()
}

/// Plain `LD_PRELOAD` has no such variable. `qmpi list` sets it for a process of its own; anywhere else the process runs.
fn survey_in_the_environment(mpi: Mpi) -> Verdict {
    let tool = tool(mpi, "base_tool");
    let name = tool.display().to_string();
    let (five, asks) = (program(mpi, "five.c"), program(mpi, "asks_size.c"));
    let mut failures = Failures::default();
    for value in ["", "1", "1\tQMPI\theatmap\t/opt/libheatmap.so"] {
        for program in [&five, &asks] {
            let job = Job::alone(mpi, program).env("QMPI_SURVEY", value);
            let what = format!("QMPI_SURVEY={value:?}");
            let native = job.run();
            let without_stack = job.clone().preload(&product::runtime()).run();
            failures.note(same(&format!("{what}, no stack"), &native, &without_stack));
            let plain = job.clone().preload(&tool).run();
            for (mode, job) in stacked(&job, &[&name]) {
                failures.note(same(&format!("{what}, {mode}"), &plain, &job.run()));
            }
        }
    }
    failures.verdict()
}

/// A QMPI tool has no plain `LD_PRELOAD`: what `docs/qmpi.md` says of a name that is taken holds, and the tool works.
fn registers_twice(mpi: Mpi) -> Verdict {
    let tool = compile::companion(mpi, "registers_twice.c").display().to_string();
    let job = Job::alone(mpi, &program(mpi, "asks_size.c"));
    let lines = [RIGHT, "registers_twice: success, then an error"].map(str::to_owned);
    let mut failures = Failures::default();
    for (mode, job) in stacked(&job, &[&tool]) {
        let outcome = job.run();
        failures.note(outcome.expect(0, &lines).map_err(|reason| format!("{mode}: {reason}")));
        if !outcome.said().is_empty() {
            failures.note(Err(format!("{mode}: not silent\n{}", outcome.report())));
        }
    }
    failures.verdict()
}

/// Plain `LD_PRELOAD` has no report. Each layer that has a function has its count there.
fn statistics_of_many_layers(mpi: Mpi) -> Verdict {
    let tool = wraps_everything(mpi)?.display().to_string();
    let job = Job::alone(mpi, &program(mpi, "asks_size.c"));
    job.clone().preload(Path::new(&tool)).run().expect(0, &[RIGHT.to_owned()])?;
    for layers in [3, 60] {
        let tools = vec![tool.as_str(); layers];
        let measured = Measured::of(&job.clone().by_hand(&tools.join(",")))?;
        measured.outcome.expect(0, &[RIGHT.to_owned()]).map_err(|reason| format!("{layers} layers: {reason}"))?;
        for function in ["MPI_Init", "MPI_Comm_size", "MPI_Finalize"] {
            let counts: Vec<u64> = (1..=measured.layers()).map(|layer| measured.calls(layer, function, 0)).collect();
            // Each layer, and the MPI library.
            if counts != vec![1; layers + 1] {
                return Err(format!("{layers} layers: {counts:?} counts of {function}").into());
            }
        }
    }
    Ok(())
}

/// `shim-gen`'s PMPI tool.
fn wraps_everything(mpi: Mpi) -> Result<PathBuf, Failed> {
    let directory = compile::directory(mpi);
    let source = product::generated(&mpi.header(), &directory, "passthrough", "wraps_everything");
    Ok(wheel::build(&mpi.compiler("c"), &directory, &source, &["-shared", "-fPIC"]))
}
