//! What cannot work: the job ends with status 3 before MPI_Init, with one line that names the file and the reason, and one
//! `hint:` line; under `qmpi run` before anything is started, with the variables set by hand in the rank.
//! And what does work never changes the program's output or status.

use std::path::{Path, PathBuf};

use libtest_mimic::Failed;
use qmpi_tests::{Job, Mpi, Outcome, Source, Trial, Verdict, compile, foreign, on_each_mpi, product, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("files", &Mpi::ALL, files),
        ("cut_off_segment", &Mpi::ALL, cut_off_segment),
        ("for_another_mpi", &Mpi::ALL, for_another_mpi),
        ("lists", &Mpi::ALL, lists),
        ("configurations", &Mpi::ALL, configurations),
        ("undefined_data", &Mpi::ALL, undefined_data),
        ("undefined_function", &Mpi::ALL, undefined_function),
        ("missing_pmpi_function", &Mpi::ALL, missing_pmpi_function),
        ("no_room_for_tls", &Mpi::ALL, no_room_for_tls),
        ("in_every_rank", &Mpi::ALL, in_every_rank),
        ("left_out", &Mpi::ALL, left_out),
        ("what_works_changes_nothing", &Mpi::ALL, what_works_changes_nothing),
    ])
}

/// One process without a launcher: what it prints is what we print.
fn alone(mpi: Mpi) -> Job {
    Job::alone(mpi, &program(mpi, "early.c"))
}

/// A job that fails: without the two seconds that Open MPI gives ranks to end.
fn failing(mpi: Mpi, ranks: usize, program: &Path) -> Job {
    Job::new(mpi, ranks, program).env("OMPI_MCA_odls_base_sigkill_timeout", "0")
}

/// Status 3, nothing of the program's, and two lines: the reason with all of `parts`, and the hint.
fn refused(outcome: &Outcome, parts: &[&str]) -> Verdict {
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    let right = matches!(lines[..], [reason, hint]
        if reason.starts_with("qmpi: error: ") && parts.iter().all(|part| reason.contains(part))
            && hint.starts_with("qmpi: hint: ") && hint.len() > 20);
    if outcome.status == 3 && outcome.stdout.is_empty() && right {
        return Ok(());
    }
    Err(format!("not status 3 with one line that has {parts:?} and one hint\n{}", outcome.report()).into())
}

/// Both ways.
fn refused_twice(mpi: Mpi, list: &str, parts: &[&str]) -> Verdict {
    let tools: Vec<&str> = list.split(',').collect();
    refused(&alone(mpi).stack(&tools).run(), parts)?;
    refused(&alone(mpi).by_hand(list).run(), parts)
}

fn files(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let good = std::fs::read(tool(mpi, "counter"))?;
    let patched = |offset: usize, byte: u8| {
        let mut copy = good.clone();
        copy[offset] = byte;
        copy
    };
    // ELF header: class in byte 4, byte order in byte 5, machine in byte 18.
    for (name, contents, reason) in [
        ("empty.so", Vec::new(), "is empty"),
        ("text.so", b"hello\n".to_vec(), "not an ELF file"),
        ("class.so", patched(4, 1), "32-bit"),
        ("order.so", patched(5, 2), "big-endian"),
        ("machine.so", patched(18, foreign::MACHINE), foreign::SAID),
        ("header.so", good[..32].to_vec(), "truncated"),
        ("half.so", good[..good.len() / 8].to_vec(), "truncated"),
    ] {
        let path = directory.path().join(name);
        std::fs::write(&path, contents)?;
        refused_twice(mpi, &path.display().to_string(), &[name, reason])?;
    }
    let nowhere = directory.path().join("nowhere.so").display().to_string();
    refused_twice(mpi, &nowhere, &["nowhere.so", "does not exist"])?;
    refused_twice(mpi, &directory.path().display().to_string(), &["is a directory"])?;
    // Without the library beside it.
    let closure = directory.path().join("closure.so");
    std::fs::copy(tool(mpi, "closure"), &closure)?;
    refused_twice(mpi, &closure.display().to_string(), &["closure.so", "closure_helper.so"])?;
    // Shared objects that are something else.
    refused_twice(mpi, "libm.so.6", &["libm.so.6", "not an MPI tool"])?;
    let library = if mpi == Mpi::OpenMpi { "libmpi.so.40" } else { "libmpich.so.12" };
    refused_twice(mpi, library, &[library, "is an MPI library, not a tool"])?;
    // One more than there are namespaces, of a tool that cannot share one.
    let closure = tool(mpi, "closure").display().to_string();
    refused_twice(mpi, &vec![closure; 16].join(","), &["closure", "namespace"])
}

/// Named in another way than its file, which the message must name all the same.
fn for_another_mpi(mpi: Mpi) -> Verdict {
    let other = if mpi == Mpi::OpenMpi { Mpi::Mpich } else { Mpi::OpenMpi };
    let (ours, theirs) = if mpi == Mpi::OpenMpi { ("Open MPI", "MPICH") } else { ("MPICH", "Open MPI") };
    let foreign = format!("mine={}", tool(other, "counter").display());
    refused_twice(mpi, &foreign, &["counter.so", "is built for", theirs, ours])?;
    // Behind a launcher that the command cannot look through, the rank finds out.
    let job = Job::alone(mpi, Path::new("sh")).args(&["-c".to_owned(), program(mpi, "early.c").display().to_string()]);
    refused(&job.stack(&[&foreign]).run(), &["counter.so", "is built for", theirs, ours])
}

/// All tables are there, but the variables end beyond the file: the dynamic linker would die of a bus error.
fn cut_off_segment(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let good = std::fs::read(compile::companion(mpi, "big_data.c"))?;
    let path = directory.path().join("cut.so");
    std::fs::write(&path, &good[..200_000])?;
    refused_twice(mpi, &path.display().to_string(), &["cut.so", "truncated"])
}

fn lists(mpi: Mpi) -> Verdict {
    for (variable, value, parts) in [
        ("QMPI_TOOL_LIST", ",", &["QMPI_TOOL_LIST", "element 1 is empty"][..]),
        ("QMPI_TOOL_LIST", "a=", &["QMPI_TOOL_LIST", "`a=`", "no path"]),
        ("QMPI_TOOL_LIST", "=/b.so", &["QMPI_TOOL_LIST", "`=/b.so`", "no name"]),
        ("QMPI_TOOL_LIST", "ghost", &["no tool `ghost` found"]),
        ("QMPI_TOOL_LIST", "a=/nonexistent/b.so", &["/nonexistent/b.so", "does not exist"]),
        ("QMPI_ON_ERROR", "ignore", &["QMPI_ON_ERROR=ignore"]),
        ("QMPI_LOG", "loud", &["QMPI_LOG=loud"]),
    ] {
        refused(&alone(mpi).env(variable, value).stack(&[]).run(), parts)?;
        refused(&alone(mpi).preload(&product::runtime()).env(variable, value).run(), parts)?;
    }
    // An empty list is no mistake: it means no tools, next to a configuration file too.
    let directory = tempfile::tempdir()?;
    let config = directory.path().join("qmpi.toml");
    std::fs::write(&config, "stack = [\"ghost\"]\n")?;
    let job = alone(mpi).env("QMPI_CONFIG", config.display().to_string()).env("QMPI_TOOL_LIST", "");
    for outcome in [job.clone().stack(&[]).run(), job.preload(&product::runtime()).run()] {
        outcome.expect(0, &["early initialized: 0".to_owned()])?;
        silent(&outcome)?;
    }
    Ok(())
}

fn configurations(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("qmpi.toml");
    let tool = tool(mpi, "counter");
    let section = |line: &str| format!("stack = [\"a\"]\n[tool.a]\npath = {tool:?}\n{line}\n");
    for (text, parts) in [
        ("stack = [".to_owned(), &["qmpi.toml:1"][..]),
        ("stak = []".to_owned(), &["qmpi.toml:1", "unknown key `stak`"]),
        (section("pth = 1"), &["qmpi.toml:4", "unknown key `tool.a.pth`"]),
        (section("path = \"b.so\""), &["qmpi.toml:4", "duplicate key `tool.a.path`"]),
        (section("[tool.a]"), &["qmpi.toml:4", "duplicate key `tool.a`"]),
        (section("ranks = \"x\""), &["qmpi.toml:4", "tool.a.ranks"]),
        (section("pcontrol = 1"), &["qmpi.toml:4", "tool.a.pcontrol", "true or false"]),
        (section("functions = [\"MPI_send\"]"), &["functions", "MPI_send"]),
        (section("share = [\"libnowhere.so.1\"]"), &["libnowhere.so.1"]),
    ] {
        std::fs::write(&path, text)?;
        let job = alone(mpi).env("QMPI_CONFIG", path.display().to_string());
        let mut outcomes = vec![job.preload(&product::runtime()).run()];
        // A library to share is looked for where the ranks run.
        if !parts.contains(&"libnowhere.so.1") {
            outcomes.push(alone(mpi).config(&path).run());
        }
        for outcome in outcomes {
            refused(&outcome, parts)?;
        }
    }
    for unreadable in [PathBuf::from("/nonexistent/qmpi.toml"), directory.path().to_owned()] {
        let name = unreadable.display().to_string();
        let parts = ["cannot read the configuration file", name.as_str()];
        refused(&alone(mpi).config(&unreadable).run(), &parts)?;
        refused(&alone(mpi).preload(&product::runtime()).env("QMPI_CONFIG", name.as_str()).run(), &parts)?;
    }
    Ok(())
}

/// Only the rank can know that the application does not have the variable either.
fn undefined_data(mpi: Mpi) -> Verdict {
    let library = tool(mpi, "undefined_data");
    ended_by_dynamic_linker(&alone(mpi).preload(&library).run(), "absent_data_symbol")?;
    let tool = library.display().to_string();
    refused(&alone(mpi).by_hand(&tool).run(), &["undefined_data.so", "absent_data_symbol"])?;
    let outcome = alone(mpi).stack(&[&tool]).run();
    ended_by_one_error(&outcome, &["undefined_data.so", "absent_data_symbol"])
}

/// It loads in silence, and works as long as the function is not called.
fn undefined_function(mpi: Mpi) -> Verdict {
    let library = tool(mpi, "undefined_function");
    let tool = library.display().to_string();
    let job = Job::alone(mpi, &program(mpi, "ring.c"));
    let preloaded = job.clone().env("UNDEFINED_CALL", "1").preload(&library).run();
    ended_by_dynamic_linker(&preloaded, "absent_helper_function")?;
    for job in [job.clone().stack(&[&tool]), job.by_hand(&tool)] {
        let outcome = job.run();
        outcome.expect(0, &["done".to_owned(), "tool undefined_function: ok calls=2".to_owned()])?;
        if !outcome.said().is_empty() {
            return Err(format!("not silent\n{}", outcome.report()).into());
        }
        let outcome = job.env("UNDEFINED_CALL", "1").run();
        ended_by_one_error(&outcome, &["undefined_function.so", "absent_helper_function"])?;
    }
    Ok(())
}

/// It loads in silence, as a lazily bound library does, and works as long as the function is not called.
fn missing_pmpi_function(mpi: Mpi) -> Verdict {
    let library = tool(mpi, "missing_pmpi");
    let tool = library.display().to_string();
    let job = Job::alone(mpi, &program(mpi, "ring.c"));
    let preloaded = job.clone().env("MISSING_CALL", "1").preload(&library).run();
    ended_by_dynamic_linker(&preloaded, "PMPIX_Qmpi_no_such_function")?;
    for job in [job.clone().stack(&[&tool]), job.by_hand(&tool)] {
        let outcome = job.run();
        outcome.expect(0, &["done".to_owned(), "tool missing_pmpi: ok calls=2".to_owned()])?;
        silent(&outcome)?;
        let library = if mpi == Mpi::OpenMpi { "libmpi.so.40" } else { "libmpich.so.12" };
        let outcome = job.env("MISSING_CALL", "1").run();
        ended_by_one_error(&outcome, &["missing_pmpi.so", "PMPIX_Qmpi_no_such_function", library])?;
    }
    Ok(())
}

/// What becomes of a symbol that nothing defines under plain `LD_PRELOAD`.
fn ended_by_dynamic_linker(outcome: &Outcome, symbol: &str) -> Verdict {
    if outcome.status == 127 && outcome.stderr.contains(&format!("undefined symbol: {symbol}")) {
        return Ok(());
    }
    Err(format!("LD_PRELOAD: not ended for {symbol}\n{}", outcome.report()).into())
}

/// Status 3, nothing of the program's on stdout, and exactly one error with one hint, whatever warnings came before.
fn ended_by_one_error(outcome: &Outcome, parts: &[&str]) -> Verdict {
    let said = outcome.said();
    let errors: Vec<usize> = (0..said.len()).filter(|&index| said[index].starts_with("qmpi: error: ")).collect();
    let right = matches!(errors[..], [index] if index + 2 == said.len()
        && parts.iter().all(|part| said[index].contains(part)) && said[index + 1].starts_with("qmpi: hint: "));
    if outcome.status == 3 && outcome.stdout.is_empty() && right {
        return Ok(());
    }
    Err(format!("not status 3 with one error that has {parts:?} and one hint\n{}", outcome.report()).into())
}

/// By hand GLIBC_TUNABLES is not set: at some number of instances there is no room left. `qmpi run` makes room.
fn no_room_for_tls(mpi: Mpi) -> Verdict {
    let tool = compile::companion(mpi, "big_tls.c").display().to_string();
    let tools = [tool.as_str(); 6];
    refused(&alone(mpi).by_hand(&tools.join(",")).run(), &["big_tls.so", "static TLS"])?;
    let outcome = alone(mpi).stack(&tools).run();
    outcome.expect(0, &["big_tls: ok".to_owned()])?;
    if outcome.count("big_tls: ok") == 6 { Ok(()) } else { Err(outcome.report().into()) }
}

/// Under a launcher each rank says it, and the job's status is 3.
fn in_every_rank(mpi: Mpi) -> Verdict {
    let ring = program(mpi, "ring.c");
    let outcome = failing(mpi, 2, &ring).by_hand("/nonexistent/tool.so").run();
    let lines = outcome.said();
    let known = |line: &&str| line.contains("/nonexistent/tool.so does not exist") || line.starts_with("qmpi: hint: ");
    if outcome.status != 3 || !outcome.stdout.is_empty() || lines.is_empty() || !lines.iter().all(known) {
        return Err(outcome.report().into());
    }
    // `qmpi run` behind the launcher, on every rank.
    let args = ["run", "-t", "/nonexistent/tool.so"].map(str::to_owned);
    let outcome = failing(mpi, 2, &product::command()).args(&args).args(&[ring.display().to_string()]).run();
    if outcome.status != 3 || !outcome.stdout.is_empty() || !outcome.said().iter().all(known) {
        return Err(outcome.report().into());
    }
    Ok(())
}

/// `QMPI_ON_ERROR=skip`: the rest of the stack works, and what is missing is said.
fn left_out(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let text = directory.path().join("text.so");
    std::fs::write(&text, "hello\n")?;
    let other = if mpi == Mpi::OpenMpi { Mpi::Mpich } else { Mpi::OpenMpi };
    let tools = [
        text.display().to_string(),
        tool(mpi, "base_tool").display().to_string(),
        "ghost".to_owned(),
        tool(other, "counter").display().to_string(),
        tool(mpi, "undefined_data").display().to_string(),
    ];
    let job = alone(mpi).env("QMPI_ON_ERROR", "skip");
    let names: Vec<&str> = tools.iter().map(String::as_str).collect();
    for outcome in [job.clone().stack(&names).run(), job.by_hand(&tools.join(",")).run()] {
        outcome.expect(0, &["early initialized: 0".to_owned(), "tool base_tool: ok calls=2".to_owned()])?;
        if outcome.stdout.lines().count() != 2 {
            return Err(format!("more than one layer is left\n{}", outcome.report()).into());
        }
        for name in ["text.so", "ghost", "counter.so", "undefined_data.so"] {
            // A line that says so: by the command, or by the rank.
            let says = |line: &&str| line.contains(name) && (line.contains("left out") || line.contains("skipped"));
            if !outcome.said().iter().any(says) {
                return Err(format!("not a word about {name}\n{}", outcome.report()).into());
            }
        }
    }
    Ok(())
}

fn what_works_changes_nothing(mpi: Mpi) -> Verdict {
    let built = program(mpi, "exit_status.c");
    let status = Source::read(&product::root().join("tests/programs/exit_status.c")).exit_status;
    let tools = ["order", "tbcast", "unwind"].map(|name| tool(mpi, name).display().to_string());
    let names: Vec<&str> = tools.iter().map(String::as_str).collect();
    // Where two ranks fail, Open MPI may end one before it prints: then only the status is certain.
    for (ranks, which, lines) in [(1, "all", &["exit_status: finalizing".to_owned()][..]), (2, "last", &[])] {
        let args = [which.to_owned()];
        let job = failing(mpi, ranks, &built).args(&args).env("ORDER_FILE", "/dev/null");
        let behind = failing(mpi, ranks, &product::command()).args(&behind_launcher(&tools, &built)).args(&args);
        let plain = job.run();
        plain.expect(status, lines)?;
        for job in [
            job.clone().stack(&names),
            job.clone().by_hand(&tools.join(",")),
            job.clone().by_hand(&format!("ghost,{}", tools.join(","))).env("QMPI_ON_ERROR", "skip"),
            behind.env("ORDER_FILE", "/dev/null"),
        ] {
            let outcome = job.env("QMPI_LOG", "error").run();
            outcome.expect(status, lines)?;
            // The awkward tool reports on stdout; that line is its own.
            let of_program: Vec<&str> = outcome.lines().into_iter().filter(|line| !line.starts_with("tool ")).collect();
            if ranks == 1 && of_program != plain.lines() {
                return Err(format!("another output\n{}\n{}", plain.report(), outcome.report()).into());
            }
            silent(&outcome)?;
        }
    }
    Ok(())
}

/// `run -t A -t B -- PROGRAM`, for a launcher that starts `qmpi` on every rank.
fn behind_launcher(tools: &[String], program: &Path) -> Vec<String> {
    let mut words = vec!["run".to_owned()];
    words.extend(tools.iter().flat_map(|tool| ["-t".to_owned(), tool.clone()]));
    words.extend(["--".to_owned(), program.display().to_string()]);
    words
}

fn silent(outcome: &Outcome) -> Result<(), Failed> {
    if outcome.said().is_empty() { Ok(()) } else { Err(format!("not silent\n{}", outcome.report()).into()) }
}
