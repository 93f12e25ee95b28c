//! Processes without MPI inherit the preloaded runtime too: it must not show. Where MPI comes late, or is first called in an
//! unusual way, the stack must be there all the same.

use std::path::Path;
use std::process::Command;

use qmpi_tests::child::{self, Ended};
use qmpi_tests::{Job, Mpi, Source, Trial, Verdict, compile, on_each_mpi, product, program, tool};

/// Programs that have nothing to do with MPI, and launchers, which have but do not call it.
const WITHOUT_MPI: &[&[&str]] = &[
    &["ls", "/"],
    &["ls", "/nonexistent"],
    &["sh", "-c", "echo here; sh -c 'echo there >&2'; exit 5"],
    &["python3", "-c", "import ctypes, threading, subprocess; print(subprocess.check_output(['echo', 'here']))"],
    &["env", "-u", "LD_PRELOAD", "true"],
];

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("programs_without_mpi", &Mpi::ALL, programs_without_mpi),
        ("the_launcher", &Mpi::ALL, the_launcher),
        ("mpi_opened_late", &Mpi::ALL, mpi_opened_late),
        ("calls_before_init", &Mpi::ALL, calls_before_init),
    ])
}

fn programs_without_mpi(mpi: Mpi) -> Verdict {
    let no_mpi = program(mpi, "no_mpi.c").display().to_string();
    let no_mpi = [no_mpi.as_str()];
    for words in WITHOUT_MPI.iter().copied().chain([&no_mpi[..]]) {
        same(mpi, words)?;
    }
    Ok(())
}

fn the_launcher(mpi: Mpi) -> Verdict {
    let words = mpi.launcher(2);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    same(mpi, &[words[0], "--version"])?;
    same(mpi, &[&words[..], &["sh", "-c", "echo here; echo there >&2"]].concat())?;
    // What Open MPI says about a rank that fails differs from run to run; the status does not, unless the rank ends at once: Open MPI 6
    // then takes it at times for one that could not be started, and ends with 255, without libqmpi as well.
    let failing = Job::new(mpi, 2, Path::new("sh")).args(&["-c".to_owned(), "sleep 1; exit 5".to_owned()]);
    let outcome = failing.stack(&[&tool(mpi, "counter").display().to_string()]).run();
    outcome.expect(5, &[])?;
    if outcome.said().is_empty() { Ok(()) } else { Err(format!("not silent\n{}", outcome.report()).into()) }
}

/// Without us, preloaded with a tool that is not there, and under `qmpi run` with a tool that is: the same.
fn same(mpi: Mpi, words: &[&str]) -> Verdict {
    let command = |words: &[&str]| {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).envs(mpi.variables());
        command
    };
    let plain = child::run(&mut command(words));
    let mut preloaded = command(words);
    preloaded.env("LD_PRELOAD", product::runtime()).env("QMPI_TOOL_LIST", "/nonexistent/tool.so");
    preloaded.env("QMPI_CONFIG", "/nonexistent/qmpi.toml").env("QMPI_LOG", "debug");
    let preloaded = child::run(&mut preloaded);
    let (run, tool) = (product::command().display().to_string(), tool(mpi, "counter").display().to_string());
    let under_run = child::run(&mut command(&[&[run.as_str(), "run", "-t", &tool, "--"], words].concat()));
    for (mode, output) in [("preloaded", preloaded), ("qmpi run", under_run)] {
        if shown(&output) != shown(&plain) {
            return Err(format!("{mode}: {words:?}: {:#?} instead of {:#?}", shown(&output), shown(&plain)).into());
        }
    }
    Ok(())
}

/// Status and output; ranks print in no particular order, and Open MPI names the job by a number.
fn shown(ended: &Ended) -> (Option<i32>, Vec<String>, Vec<String>) {
    let lines = |text: &str| {
        let mut lines: Vec<String> =
            text.lines().filter(|line| !line.contains("Process name: [[")).map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    (ended.status.code(), lines(&ended.stdout), lines(&ended.stderr))
}

fn mpi_opened_late(mpi: Mpi) -> Verdict {
    let program = program(mpi, "late_open.c");
    let tools = ["base_tool", "order"].map(|name| tool(mpi, name).display().to_string());
    for how in ["local", "global"] {
        let job = Job::new(mpi, 2, &program).args(&[how.to_owned()]);
        let expected = ["late_part: sum 1", "late_open: status 0", "tool base_tool: ok calls=3"].map(str::to_owned);
        let by_hand = job.clone().by_hand(&tools.join(","));
        for (mode, job) in [("qmpi run", job.stack(&[&tools[0], &tools[1]])), ("by hand", by_hand)] {
            let outcome = job.run();
            outcome.expect(0, &expected).map_err(|reason| format!("{how}, {mode}: {reason}"))?;
            let trace: Vec<&str> = outcome.stderr.lines().filter(|line| line.starts_with("enter order")).collect();
            let rank_0 = ["Init", "Comm_rank", "Comm_size", "Recv", "Comm_rank", "Finalize"];
            let rank_0: Vec<String> = rank_0.iter().map(|name| format!("enter order MPI_{name}")).collect();
            if trace != rank_0 || !outcome.said().is_empty() {
                return Err(format!("{how}, {mode}: not the trace of rank 0\n{}", outcome.report()).into());
            }
        }
    }
    Ok(())
}

fn calls_before_init(mpi: Mpi) -> Verdict {
    let path = product::root().join("tests/programs/early.c");
    let source = Source::read(Path::new(&path));
    let program = program(mpi, "early.c");
    let tool = compile::companion(mpi, "early_tool.c").display().to_string();
    for case in source.cases_on(mpi) {
        let which = case.args.first().map_or("", String::as_str);
        let function = match which {
            "initialized" => "MPI_Initialized",
            "finalized" => "MPI_Finalized",
            "version" => "MPI_Get_version",
            "library" => "MPI_Get_library_version",
            "mpi_t" => "MPI_T_init_thread",
            "info" => "MPI_Info_create",
            "wtime" => "MPI_Wtime",
            other => return Err(format!("early.c has a case that this test does not know: {other}").into()),
        };
        let mut expected = case.stdout.clone();
        expected.push(format!("early_tool: {function}, then MPI_Init"));
        for tools in [&[tool.as_str()][..], &[&tool, &tool]] {
            let job = match which {
                // Open MPI's MPI_T needs the daemon.
                "mpi_t" => Job::new(mpi, 1, &program),
                _ => Job::alone(mpi, &program),
            };
            let outcome = job.args(&case.args).stack(tools).run();
            outcome.expect(0, &expected).map_err(|reason| format!("{which}: {reason}"))?;
            if outcome.count("early_tool: ") != tools.len() || !outcome.stderr.is_empty() {
                return Err(format!("{which}: not once per instance, or not silent\n{}", outcome.report()).into());
            }
        }
    }
    Ok(())
}
