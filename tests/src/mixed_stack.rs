//! A stack of all kinds of tools in one process under valgrind: from start-up to exit, calls from eight threads, named stacks opened by
//! four, copies of a tool that share a namespace, measured calls.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::valgrind::{self, Findings, Tool};
use crate::{Mpi, compile, program, tool};

/// Named stacks, of which every other one has one or two PMPI tools: 18 in all, with two of the stack itself more than
/// glibc has namespaces, so that the last share one.
const STACKS: usize = 24;

/// Eight threads send messages to their own rank.
///
/// # Errors
/// As for [`valgrind::run`].
pub fn calls(under: Tool, mpi: Mpi, runtime: &Path) -> Result<Findings, String> {
    let tools = [("thesis", compile::companion(mpi, "count_thesis.c"))];
    let lines = ["threads self: 800 messages".to_owned()];
    run(under, mpi, runtime, "threads.c", &["self"], &tools, &lines)
}

/// Four threads make tables and open stacks in `MPI_Init`.
///
/// # Errors
/// As for [`valgrind::run`].
pub fn named_stacks(under: Tool, mpi: Mpi, runtime: &Path) -> Result<Findings, String> {
    let tools = [("opens_stacks", compile::companion(mpi, "opens_stacks.c")), ("thesis", tool(mpi, "thesis_counter"))];
    let lines = ["asks_size: 1".to_owned(), format!("opens_stacks: {STACKS} stacks, all right")];
    run(under, mpi, runtime, "asks_size.c", &[], &tools, &lines)
}

/// A program with these tools between two PMPI tools and a QMPI tool.
fn run(
    under: Tool,
    mpi: Mpi,
    runtime: &Path,
    file: &str,
    args: &[&str],
    tools: &[(&str, PathBuf)],
    lines: &[String],
) -> Result<Findings, String> {
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let config = directory.path().join("qmpi.toml");
    std::fs::write(&config, configuration(mpi, tools)).map_err(|error| error.to_string())?;
    let report = directory.path().join("report");
    // The variables are set by hand: `qmpi run` would be a process of its own under valgrind.
    let (findings, outcome) = valgrind::run(under, mpi, &program(mpi, file), args, lines, |job| {
        job.preload(runtime)
            .env("QMPI_CONFIG", config.display().to_string())
            .env("QMPI_REPORT", report.display().to_string())
            .env("QMPI_LOG", "error")
            .env("COUNTER", "file=/dev/null")
            .env("OPENS_STACKS", format!("4,{STACKS},2"))
    })?;
    let is_measured = std::fs::read_dir(&report).is_ok_and(|mut files| files.next().is_some());
    if is_measured && outcome.said().is_empty() {
        Ok(findings)
    } else {
        Err(format!("no report, or not silent\n{}", outcome.report()))
    }
}

fn configuration(mpi: Mpi, tools: &[(&str, PathBuf)]) -> String {
    let names: Vec<&str> = tools.iter().map(|(name, _)| *name).collect();
    let stack: Vec<&str> = ["outer", "counter"].into_iter().chain(names).chain(["inner"]).collect();
    let mut text = format!(
        "stack = {stack:?}\n[stacks]\nnative = [\"native_adds\"]\none = [\"adds\"]\ntwo = [\"adds\", \"adds\"]\n"
    );
    let others = [
        ("outer", tool(mpi, "counter")),
        ("counter", tool(mpi, "qmpi_counter")),
        ("inner", tool(mpi, "counter")),
        ("adds", compile::companion(mpi, "adds_to_size.c")),
        ("native_adds", compile::companion(mpi, "qmpi_adds_to_size.c")),
    ];
    for (name, path) in tools.iter().chain(&others) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "[tool.{name}]\npath = {path:?}");
    }
    text
}
