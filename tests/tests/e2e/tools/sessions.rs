//! Programs that use sessions, and tools that begin in their MPI_Init: `sessions = "world"`, and what is said without it.

use std::path::PathBuf;

use qmpi_tests::{Library, Mpi, Outcome, Trial, Verdict, product};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    let mut trials = Library::trials("world", Library::has_sessions, world);
    trials.extend(Library::trials("without", Library::has_sessions, without));
    trials.extend(Library::trials("below_another", Library::has_sessions, below_another));
    trials.extend(Library::trials("thread_local", |library| library == Library::Debian(Mpi::Mpich), thread_local));
    trials
}

/// How `tests/programs/sessions_ways.c` goes about it, and how often its tool sees MPI_Barrier of two ranks then.
const WAYS: [(&str, usize); 7] = [
    ("one", 2),
    ("sequential", 4),
    ("overlapping", 6),
    ("fork", 2),
    ("init_before", 4),
    ("init_between", 4),
    ("init_after", 4),
];

fn source(name: &str) -> PathBuf {
    product::root().join("tests/programs").join(name)
}

/// Runs the program below tools of these sources, the section of each with `settings`.
fn run(library: Library, way: &str, tools: &[&str], settings: &str) -> Outcome {
    let sources: Vec<PathBuf> = tools.iter().map(|tool| source(tool)).collect();
    let sections = sources.iter().take(1).map(|source| {
        let file = PathBuf::from(library.tool(source));
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        format!("[tool.\"{name}\"]\n{settings}\n")
    });
    let directory = tempfile::tempdir().expect("a temporary directory");
    let config = directory.path().join("tools.toml");
    std::fs::write(&config, sections.collect::<String>()).expect("the configuration can be written");
    let sources: Vec<_> = sources.iter().map(PathBuf::as_path).collect();
    let variables = [("SESSIONS_WAY", way.to_owned()), ("QMPI_CONFIG", config.display().to_string())];
    // A launcher may end the other ranks when one ends with an open session.
    let ranks = if way == "open" { 1 } else { 2 };
    library.run(ranks, &source("sessions_ways.c"), &sources, &variables)
}

/// The tool sees one initialization, all calls between it and MPI_Finalize, and the program what the standard says.
fn world(library: Library) -> Verdict {
    for (way, barriers) in WAYS {
        let outcome = run(library, way, &["sessions_tool.c"], "sessions = \"world\"");
        let tool = format!("tool: 1 MPI_Init with arguments, {barriers} MPI_Barrier of all ranks, 0 outside");
        outcome.expect(0, &[format!("{way}: 0 wrong"), tool])?;
        if !outcome.said().is_empty() {
            return Err(outcome.report().into());
        }
    }
    let outcome = run(library, "open", &["sessions_tool.c"], "sessions = \"world\"");
    // Open MPI's launcher calls that a failure.
    outcome.expect(outcome.status, &["open: 0 wrong".into()])?;
    says(&outcome, "saw no MPI_Finalize: the program has not ended all of its sessions")
}

/// Two layers: the outer calls the inner one's MPI_Init.
fn below_another(library: Library) -> Verdict {
    let outcome = run(library, "sequential", &["sessions_tool.c", "sessions_tool.c"], "sessions = \"world\"");
    outcome.expect(0, &["sequential: 0 wrong".into()])?;
    let line = "tool: 1 MPI_Init with arguments, 4 MPI_Barrier of all ranks, 0 outside";
    if outcome.count(line) == 2 { Ok(()) } else { Err(outcome.report().into()) }
}

/// `exit` destroys thread-local objects of C++ before it calls exit handlers: the tool's MPI_Finalize comes before. The tool has no
/// MPI_Init_thread.
fn thread_local(library: Library) -> Verdict {
    let outcome = run(library, "sequential", &["sessions_thread_local.cc"], "sessions = \"world\"");
    outcome.expect(0, &["sequential: 0 wrong", "thread_local: 1 MPI_Init, there"].map(str::to_owned))?;
    if outcome.count("thread_local") == 2 { Ok(()) } else { Err(outcome.report().into()) }
}

/// The tool is told of, and the program runs as it does without a stack. In other ways some of these MPIs fail now and then, without a tool
/// as well: with MPI_Init while a session is open, and with a session after the last one.
fn without(library: Library) -> Verdict {
    for way in ["one", "overlapping", "init_before"] {
        let outcome = run(library, way, &["sessions_tool.c"], "");
        outcome.expect(0, &[format!("{way}: 0 wrong")])?;
        if way.starts_with("init") {
            let is_told = outcome.count("tool: 1 MPI_Init with arguments") == 1 && outcome.said().is_empty();
            is_told.then_some(()).ok_or_else(|| outcome.report())?;
        } else {
            says(&outcome, "saw no MPI_Init: the program uses sessions")?;
            says(&outcome, "sessions = \"world\"")?;
        }
    }
    Ok(())
}

fn says(outcome: &Outcome, text: &str) -> Verdict {
    if outcome.said().iter().any(|line| line.contains(text)) { Ok(()) } else { Err(outcome.report().into()) }
}
