//! `qmpi run --crash-report`: which layer crashed, while handlers run and processes end as without.

use std::path::{Path, PathBuf};

use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, compile, on_each_mpi, product};

qmpi_tests::module!(trials);

/// The status of a process that this signal ends, as shells have it.
const SIGSEGV: i32 = 128 + 11;
/// The same.
const SIGABRT: i32 = 128 + 6;

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("in_a_wrapper", &Mpi::ALL, in_a_wrapper),
        ("kinds_of_crashes", &Mpi::ALL, kinds_of_crashes),
        ("without_frame_pointer", &Mpi::ALL, without_frame_pointer),
        ("in_a_clone", &Mpi::ALL, in_a_clone),
        ("in_the_program", &Mpi::ALL, in_the_program),
        ("stack_used_up", &Mpi::ALL, stack_used_up),
        ("constructor_and_destructor", &Mpi::ALL, constructor_and_destructor),
        ("handlers_run", &Mpi::ALL, handlers_run),
        ("recovered", &Mpi::ALL, recovered),
        ("asked_for", &Mpi::ALL, asked_for),
        ("without_the_command", &Mpi::ALL, without_the_command),
        ("ranks", &Mpi::ALL, ranks),
    ])
}

/// The frame of the instruction that writes.
const FAULT: &str = if cfg!(target_arch = "x86_64") { "#0  write_there+0x0" } else { "#0  write_there+0x4" };

/// `a`, `bad` and `b`, one tool, of which the second crashes in this way.
fn config(directory: &Path, tool: &Path, crash: &str) -> std::io::Result<PathBuf> {
    let path = tool.display();
    let text = format!(
        "stack = [\"a\", \"bad\", \"b\"]\n[tool.a]\npath = \"{path}\"\n[tool.b]\npath = \"{path}\"\n[tool.bad]\npath = \"{path}\"\n\
         env = {{ CRASH = \"{crash}\" }}\n"
    );
    let file = directory.join("crash.toml");
    std::fs::write(&file, text)?;
    Ok(file)
}

fn job(mpi: Mpi) -> Job {
    Job::alone(mpi, &compile::executable(mpi, &product::root().join("tests/programs/crash_program.c")))
}

fn tool(mpi: Mpi) -> PathBuf {
    compile::companion(mpi, "crash_tool.c")
}

/// A run with a layer that crashes so, with and without reports: both end in the same way.
fn crash(mpi: Mpi, tool: &Path, how: &str, program: &str) -> Result<Outcome, libtest_mimic::Failed> {
    let directory = tempfile::tempdir()?;
    let config = config(directory.path(), tool, how)?;
    let job = job(mpi).args(&[program.to_owned()]).config(&config);
    let without = job.clone().run();
    let with = job.option("--crash-report").run();
    if with.status != without.status || with.stdout != without.stdout {
        return Err(format!("without a report:\n{}\nwith one:\n{}", without.report(), with.report()).into());
    }
    if without.stderr.contains("qmpi: crash") {
        return Err(format!("nobody asked for a report\n{}", without.report()).into());
    }
    Ok(with)
}

/// The lines of its report; there is one.
fn report(outcome: &Outcome) -> Result<String, String> {
    let lines: Vec<&str> = outcome.stderr.lines().filter(|line| line.starts_with("qmpi: ")).collect();
    match lines.iter().filter(|line| line.starts_with("qmpi: crash in ")).count() {
        1 => Ok(lines.join("\n")),
        count => Err(format!("{count} reports\n{}", outcome.report())),
    }
}

/// The first line begins so, and all of these are somewhere.
fn says(outcome: &Outcome, first: &str, parts: &[&str]) -> Result<(), String> {
    let text = report(outcome)?;
    if !text.starts_with(first) {
        return Err(format!("the report does not begin with {first:?}\n{}", outcome.report()));
    }
    match parts.iter().find(|part| !text.contains(**part)) {
        Some(part) => Err(format!("the report lacks {part:?}\n{}", outcome.report())),
        None => Ok(()),
    }
}

fn in_a_wrapper(mpi: Mpi) -> Verdict {
    let outcome = crash(mpi, &tool(mpi), "null", "")?;
    let first = "qmpi: crash in layer 2, bad (crash_tool.so): SIGSEGV (no memory is there) at address 0x0";
    let parts = [
        FAULT,
        " at crash_tool.c:21  layer 2, bad (crash_tool.so)",
        "layer 1, a (crash_tool.so)",
        "program (crash_program)",
        ", in write_there\n",
        "process ",
    ];
    says(&outcome, first, &parts)?;
    let text = report(&outcome)?;
    // The wrapper is entered by the one above it, and by nothing else that is shown.
    let layers: Vec<&str> = text
        .lines()
        .filter(|line| line.contains(" MPI_Barrier+"))
        .map(|line| line.rsplit("  ").next().unwrap_or(line))
        .collect();
    if layers != ["layer 2, bad (crash_tool.so)", "layer 1, a (crash_tool.so)"] {
        return Err(format!("{layers:?}\n{text}").into());
    }
    if outcome.status != SIGSEGV { Err(outcome.report().into()) } else { Ok(()) }
}

fn kinds_of_crashes(mpi: Mpi) -> Verdict {
    let tool = tool(mpi);
    for (how, signal, reason, part) in [
        ("thread", "SIGSEGV", "no memory is there", "crash_in_thread"),
        ("memset", "SIGSEGV", "no memory is there", " MPI_Barrier+"),
        ("jump", "SIGSEGV", "no memory is there", " MPI_Barrier+"),
        ("division", "SIGFPE", "integer division", "MPI_Barrier"),
        ("trap", "SIGILL", "no instruction", "MPI_Barrier"),
    ] {
        // On AArch64 a division by zero is 0, and the compiler's trap a breakpoint.
        if cfg!(target_arch = "aarch64") && ["division", "trap"].contains(&how) {
            continue;
        }
        let outcome = crash(mpi, &tool, how, "")?;
        says(&outcome, &format!("qmpi: crash in layer 2, bad (crash_tool.so): {signal} ({reason}"), &[part])
            .map_err(|error| format!("{how}: {error}"))?;
    }
    Ok(())
}

fn without_frame_pointer(mpi: Mpi) -> Verdict {
    for (variant, options) in [
        ("omit", &["-O2", "-fomit-frame-pointer", "-g0"][..]),
        // No tables at all: the stack is searched.
        ("bare", &["-O2", "-fomit-frame-pointer", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-g0"][..]),
    ] {
        let tool = compile::companion_variant(mpi, "crash_tool.c", variant, options);
        let outcome = crash(mpi, &tool, "null", "")?;
        let parts = [" MPI_Barrier+", &*format!("layer 1, a (crash_tool_{variant}.so)"), " main+"];
        says(&outcome, &format!("qmpi: crash in layer 2, bad (crash_tool_{variant}.so): SIGSEGV"), &parts)?;
    }
    Ok(())
}

/// More layers than there are namespaces: the one that crashes shares one with others.
fn in_a_clone(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let path = tool(mpi);
    let names: Vec<String> = (1..=20).map(|number| format!("n{number}")).collect();
    let mut text = format!("stack = {names:?}\n");
    for name in &names {
        let env = if name == "n18" { "env = { CRASH = \"null\" }\n" } else { "" };
        text += &format!("[tool.{name}]\npath = \"{}\"\n{env}", path.display());
    }
    let file = directory.path().join("clones.toml");
    std::fs::write(&file, text)?;
    let outcome = job(mpi).config(&file).option("--crash-report").run();
    let parts = [FAULT, "layer 17, n17 (crash_tool.so)", "layer 1, n1 (crash_tool.so)"];
    Ok(says(&outcome, "qmpi: crash in layer 18, n18 (crash_tool.so): SIGSEGV", &parts)?)
}

fn in_the_program(mpi: Mpi) -> Verdict {
    let tool = tool(mpi);
    for (what, rest) in [
        ("null", "SIGSEGV (no memory is there) at address 0x0"),
        ("thread", "SIGSEGV"),
        ("abort", "SIGABRT (raised by the process itself)"),
        ("raise", "SIGFPE (raised by the process itself)"),
    ] {
        let outcome = crash(mpi, &tool, "", what)?;
        says(&outcome, &format!("qmpi: crash in the program (crash_program): {rest}"), &["program (crash_program)"])
            .map_err(|error| format!("{what}: {error}"))?;
    }
    // And without any layer.
    let outcome = job(mpi).args(&["null".to_owned()]).option("-q").option("--crash-report").run();
    Ok(says(&outcome, "qmpi: crash in the program (crash_program): SIGSEGV", &["write_there"])?)
}

fn stack_used_up(mpi: Mpi) -> Verdict {
    let tool = tool(mpi);
    for how in ["overflow", "overflow in a thread"] {
        let outcome = crash(mpi, &tool, how, "")?;
        let first = "qmpi: crash in layer 2, bad (crash_tool.so): SIGSEGV (the stack is used up)";
        says(&outcome, first, &["for_ever", "frames that are not shown"]).map_err(|error| format!("{how}: {error}"))?;
    }
    Ok(())
}

fn constructor_and_destructor(mpi: Mpi) -> Verdict {
    let tool = tool(mpi);
    let outcome = crash(mpi, &tool, "constructor", "")?;
    let first = "qmpi: crash in layer 2, bad, which is being loaded (crash_tool.so): SIGSEGV";
    says(&outcome, first, &["begin"])?;
    let outcome = crash(mpi, &tool, "destructor", "")?;
    Ok(says(&outcome, "qmpi: crash in layer 2, bad (crash_tool.so): SIGABRT", &["abort+", " end+"])?)
}

/// Handlers of the program end the process in every way: the report is made, and all else is as without.
fn handlers_run(mpi: Mpi) -> Verdict {
    let tool = tool(mpi);
    for (what, output, status, signal) in [
        ("returns", "the handler ran, address 16", SIGSEGV, "SIGSEGV (no memory is there) at address 0x10"),
        ("exits", "the handler ran", 23, "SIGSEGV"),
        ("raises", "the handler ran", SIGSEGV, "SIGSEGV (no memory is there) at address 0x0"),
        ("abort returns", "the handler ran", SIGABRT, "SIGABRT"),
    ] {
        let outcome = crash(mpi, &tool, "", what)?;
        outcome.expect(status, &[output.to_owned()])?;
        if outcome.count("the handler ran") != 1 || outcome.count("another one is set") != 0 {
            return Err(format!("{what}\n{}", outcome.report()).into());
        }
        says(&outcome, &format!("qmpi: crash in the program (crash_program): {signal}"), &["main+"])
            .map_err(|error| format!("{what}: {error}"))?;
    }
    Ok(())
}

/// A handler that goes on elsewhere: nothing has crashed.
fn recovered(mpi: Mpi) -> Verdict {
    let outcome = crash(mpi, &tool(mpi), "", "recover")?;
    outcome.expect(0, &["recovered".to_owned(), "done".to_owned()])?;
    if outcome.stderr.contains("qmpi: crash") { Err(outcome.report().into()) } else { Ok(()) }
}

/// By the variable, and by the configuration file.
fn asked_for(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let config = config(directory.path(), &tool(mpi), "null")?;
    let first = "qmpi: crash in layer 2, bad (crash_tool.so)";
    says(&job(mpi).config(&config).env("QMPI_CRASH_REPORT", "1").run(), first, &[])?;
    let text = std::fs::read_to_string(&config)?;
    std::fs::write(&config, format!("crash_report = true\n{text}"))?;
    says(&job(mpi).config(&config).run(), first, &[])?;
    let off = job(mpi).config(&config).option("--dry-run").run();
    if !off.stdout.contains("/libqmpi_crash.so") {
        return Err(off.report().into());
    }
    Ok(())
}

/// A container may lack the command: then there is a line, which the process writes itself.
fn without_the_command(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let file = config(directory.path(), &tool(mpi), "null")?;
    let libraries = [product::runtime(), product::runtime().with_file_name("libqmpi_crash.so")];
    let mut job = job(mpi).env("QMPI_CONFIG", file.display().to_string()).env("QMPI_CRASH_REPORT", "/nowhere/qmpi");
    for library in &libraries {
        job = job.preload(library);
    }
    let outcome = job.run();
    let line = report(&outcome)?;
    let is_right = line.lines().count() == 1
        && line.starts_with("qmpi: crash in layer 2, bad: SIGSEGV at 0x0 by the instruction at 0x")
        && outcome.status == SIGSEGV;
    if is_right { Ok(()) } else { Err(outcome.report().into()) }
}

/// Under a launcher, the rank is named.
fn ranks(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let tool = tool(mpi);
    let file = config(directory.path(), &tool, "null")?;
    let text = std::fs::read_to_string(&file)?;
    std::fs::write(&file, text.replace("[tool.bad]\n", "[tool.bad]\nranks = \"1\"\n"))?;
    let program = compile::executable(mpi, &product::root().join("tests/programs/crash_program.c"));
    let outcome = Job::new(mpi, 2, &program).config(&file).option("--crash-report").run();
    says(&outcome, "qmpi: crash in layer 2, bad (crash_tool.so): SIGSEGV", &["rank 1, process "])?;
    // A job in which nothing crashes is as without.
    let outcome = Job::new(mpi, 2, &qmpi_tests::program(mpi, "ring.c")).option("-q").option("--crash-report").run();
    outcome.expect(0, &["done".to_owned()])?;
    if outcome.said().is_empty() { Ok(()) } else { Err(outcome.report().into()) }
}
