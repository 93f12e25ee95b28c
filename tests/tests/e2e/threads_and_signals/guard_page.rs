//! Calls from stacks that end at a guard page, as coroutines have them: nothing is read above what the caller wrote.
//!
//! The return address and the words that are passed in memory are the last ones of the stack. Under plain LD_PRELOAD the tool's wrapper
//! and the MPI library read these words and no other. A stub between layers that copies more words than the caller passed reads the
//! guard page: SIGSEGV.

use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, compile, on_each_mpi, program};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("preloaded_and_empty_stack", &Mpi::ALL, preloaded_and_empty_stack),
        ("pmpi", &Mpi::ALL, |mpi| stacks(mpi, &[&["pmpi"], &["pmpi", "pmpi"]])),
        ("pmpi_that_keeps_pcontrol", &Mpi::ALL, |mpi| {
            stacks(mpi, &[&["keeps"], &["keeps", "pmpi"], &["pmpi", "keeps"]])
        }),
        ("qmpi", &Mpi::ALL, |mpi| stacks(mpi, &[&["qmpi"], &["qmpi", "pmpi"], &["pmpi", "qmpi"], &["qmpi", "qmpi"]])),
        ("thesis", &Mpi::ALL, |mpi| stacks(mpi, &[&["thesis"], &["thesis", "pmpi"], &["pmpi", "thesis"]])),
        ("own_calls_hidden", &Mpi::ALL, own_calls_hidden),
        ("qmpi_and_thesis", &Mpi::ALL, |mpi| stacks(mpi, &[&["qmpi", "thesis"], &["thesis", "qmpi"]])),
    ])
}

/// Calls that the program makes: nine in C, three in Fortran.
const CALLS: usize = 12;

fn job(mpi: Mpi, binding: &str) -> Job {
    Job::alone(mpi, &program(mpi, "guard_page.c")).args(&[binding.to_owned()])
}

fn library(mpi: Mpi, kind: &str) -> std::path::PathBuf {
    compile::companion(mpi, &format!("guard_page_{kind}.c"))
}

/// Every call returned MPI_SUCCESS.
fn right(outcome: &Outcome) -> Result<(), String> {
    outcome.expect(0, &["guard_page: done".to_owned()])?;
    let lines: Vec<&str> = outcome.stdout.lines().filter(|line| line.starts_with("guard_page: ")).collect();
    if lines.iter().filter(|line| line.ends_with(": 0")).count() == CALLS {
        return Ok(());
    }
    let bad: Vec<&&str> = lines.iter().filter(|line| !line.ends_with(": 0") && !line.ends_with(": done")).collect();
    Err(format!("{bad:?}\n{}", outcome.report()))
}

/// Native runs, LD_PRELOAD of the PMPI tools, and a stack without tools.
fn preloaded_and_empty_stack(mpi: Mpi) -> Verdict {
    for binding in ["plt", "pointer"] {
        right(&job(mpi, binding).run()).map_err(|reason| format!("native, {binding}: {reason}"))?;
        for kind in ["pmpi", "keeps"] {
            let outcome = job(mpi, binding).preload(&library(mpi, kind)).run();
            right(&outcome).map_err(|reason| format!("LD_PRELOAD of {kind}, {binding}: {reason}"))?;
            // On MPICH the tool sees a Fortran call twice, on Open MPI a tool without Fortran wrappers does not see it.
            if !outcome.stdout.contains(" wrong=0") {
                return Err(format!("LD_PRELOAD of {kind}: wrong arguments\n{}", outcome.report()).into());
            }
        }
        right(&job(mpi, binding).stack(&[]).run()).map_err(|reason| format!("empty stack, {binding}: {reason}"))?;
    }
    Ok(())
}

/// Each layer sees every call once, with its arguments.
fn stacks(mpi: Mpi, stacks: &[&[&str]]) -> Verdict {
    stacks_of(mpi, stacks, &|job| job)
}

/// Stubs in front of the tool's wrappers, and in place of the functions that it calls.
fn own_calls_hidden(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let config = directory.path().join("qmpi.toml");
    let section = |kind: &str| format!("[tool.\"guard_page_{kind}.so\"]\nown_calls = \"hidden\"\n");
    std::fs::write(&config, ["pmpi", "keeps"].map(section).concat())?;
    let stacks = [&["pmpi"][..], &["pmpi", "pmpi"], &["keeps", "pmpi"], &["pmpi", "qmpi"], &["thesis", "pmpi"]];
    stacks_of(mpi, &stacks, &|job| job.env("QMPI_CONFIG", config.display().to_string()))
}

fn stacks_of(mpi: Mpi, stacks: &[&[&str]], prepare: &dyn Fn(Job) -> Job) -> Verdict {
    let mut failures = Vec::new();
    for kinds in stacks {
        let tools: Vec<String> = kinds.iter().map(|kind| library(mpi, kind).display().to_string()).collect();
        for binding in ["room", "plt", "pointer"] {
            let outcome = prepare(job(mpi, binding)).stack(&tools.iter().map(String::as_str).collect::<Vec<_>>()).run();
            let result = right(&outcome).and_then(|()| every_layer(&outcome, kinds));
            failures.extend(result.err().map(|reason| format!("{kinds:?}, {binding}: {reason}")));
        }
    }
    let Some(first) = failures.first() else { return Ok(()) };
    let heads: Vec<&str> = failures.iter().filter_map(|failure| failure.lines().next()).collect();
    Err(format!("{}\n\n{first}", heads.join("\n")).into())
}

fn every_layer(outcome: &Outcome, kinds: &[&str]) -> Result<(), String> {
    let lines: Vec<&str> = outcome.stdout.lines().filter(|line| line.starts_with("tool guard_page_")).collect();
    let number = |line: &str, name: &str| -> usize {
        line.split(' ')
            .filter_map(|word| word.strip_prefix(name))
            .find_map(|word| word.parse().ok())
            .unwrap_or_default()
    };
    for line in &lines {
        // Instances of a QMPI tool share its variables.
        let layers = if line.contains("_qmpi") { kinds.iter().filter(|kind| **kind == "qmpi").count() } else { 1 };
        let calls = number(line, "calls=") + number(line, "fortran=");
        if calls != layers * CALLS || number(line, "wrong=") != 0 {
            return Err(format!("not {} calls with their arguments: {line}\n{}", layers * CALLS, outcome.report()));
        }
    }
    if lines.len() == kinds.len() {
        return Ok(());
    }
    Err(format!("{} reports\n{}", lines.len(), outcome.report()))
}
