//! `qmpi_switch.c`: a diamond of two named stacks on top of the interface. Each stack sees its communicators' calls only, MPI is
//! initialized once, and what is wrong with a stack is said in one line.

use std::fmt::Write;
use std::path::PathBuf;

use libtest_mimic::Failed;
use qmpi_tests::{Job, Mpi, Outcome, Tables, Trial, Verdict, on_each_mpi, product, program, tool};

/// What the program prints.
const RESULT: &str = "rows: 2 processes in a row, sum 1, all 4";

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("rows_and_others", &Mpi::ALL, rows_and_others),
        ("between_other_layers", &Mpi::ALL, between_other_layers),
        ("stacks_of_several_tools", &Mpi::ALL, stacks_of_several_tools),
        ("native_tools_in_both", &Mpi::ALL, native_tools_in_both),
        ("empty_stacks", &Mpi::ALL, empty_stacks),
        ("unknown_stack", &Mpi::ALL, unknown_stack),
        ("unknown_tool", &Mpi::ALL, unknown_tool),
        ("thesis_tool", &Mpi::ALL, thesis_tool),
    ])
}

/// A configuration file with the switch, and a counter for each of these names.
struct Config {
    directory: tempfile::TempDir,
}

impl Config {
    fn new(mpi: Mpi, main: &[&str], stacks: &[(&str, &[&str])], counters: &[&str]) -> Result<Config, Failed> {
        let mut text = format!("stack = {main:?}\n[stacks]\n");
        for (name, tools) in stacks {
            writeln!(text, "{name} = {tools:?}")?;
        }
        writeln!(text, "[tool.switch]\npath = {:?}", tool(mpi, "qmpi_switch"))?;
        writeln!(text, "[tool.counter]\npath = {:?}", tool(mpi, "qmpi_counter"))?;
        writeln!(text, "[tool.tbcast]\npath = {:?}", tool(mpi, "tbcast"))?;
        writeln!(text, "[tool.t1]\npath = {:?}", tool(mpi, "thesis_t1"))?;
        for name in counters {
            let path = tool(mpi, "counter");
            writeln!(text, "[tool.{name}]\npath = {path:?}\nenv = {{ COUNTER = \"label={name}\" }}")?;
        }
        let directory = tempfile::tempdir()?;
        std::fs::write(directory.path().join("qmpi.toml"), text)?;
        Ok(Config { directory })
    }

    fn run(&self, mpi: Mpi) -> Outcome {
        let file: PathBuf = self.directory.path().join("qmpi.toml");
        Job::new(mpi, 4, &program(mpi, "rows.c")).config(&file).run()
    }

    /// Without the command, which looks at the file before.
    fn run_by_hand(&self, mpi: Mpi) -> Outcome {
        let file = self.directory.path().join("qmpi.toml").display().to_string();
        Job::new(mpi, 4, &program(mpi, "rows.c")).preload(&product::runtime()).env("QMPI_CONFIG", file).run()
    }
}

fn finished(outcome: &Outcome) -> Verdict {
    outcome.expect(0, &[RESULT.to_owned()])?;
    if outcome.said().is_empty() { Ok(()) } else { Err(format!("not silent\n{}", outcome.report()).into()) }
}

const OF_ROWS: [(&str, u64, u64); 4] =
    [("MPI_Init", 4, 0), ("MPI_Finalize", 4, 0), ("MPI_Allreduce", 12, 48), ("MPI_Bcast", 4, 16)];
const OF_OTHERS: [(&str, u64, u64); 4] =
    [("MPI_Init", 4, 0), ("MPI_Finalize", 4, 0), ("MPI_Allreduce", 4, 16), ("MPI_Barrier", 4, 0)];

fn rows_and_others(mpi: Mpi) -> Verdict {
    let stacks: [(&str, &[&str]); 2] = [("rows", &["in_rows"]), ("others", &["in_others"])];
    let outcome = Config::new(mpi, &["switch"], &stacks, &["in_rows", "in_others"])?.run(mpi);
    finished(&outcome)?;
    let tables = Tables::of(&outcome);
    tables.expect_all("in_rows", &OF_ROWS)?;
    Ok(tables.expect_all("in_others", &OF_OTHERS)?)
}

/// What is above the switch and below it sees all calls; below it also what both counters do to sum up.
fn between_other_layers(mpi: Mpi) -> Verdict {
    let stacks: [(&str, &[&str]); 2] = [("rows", &["in_rows"]), ("others", &["in_others"])];
    let counters = ["above", "in_rows", "in_others", "below"];
    let outcome = Config::new(mpi, &["above", "switch", "below"], &stacks, &counters)?.run(mpi);
    finished(&outcome)?;
    let tables = Tables::of(&outcome);
    let all = [
        ("MPI_Init", 4, 0),
        ("MPI_Finalize", 4, 0),
        ("MPI_Allreduce", 16, 64),
        ("MPI_Bcast", 4, 16),
        ("MPI_Barrier", 4, 0),
        ("MPI_Comm_split", 4, 0),
    ];
    tables.expect_all("above", &all)?;
    tables.expect_all("in_rows", &OF_ROWS)?;
    // The sum of `above`: a call on MPI_COMM_WORLD.
    let sum = 4 * 24 * 3 * 8;
    tables.expect_all("in_others", &[&OF_OTHERS[..], &[("MPI_Reduce", 4, sum)]].concat())?;
    Ok(tables.expect_all("below", &[&all[..], &[("MPI_Reduce", 12, 3 * sum)]].concat())?)
}

/// Two layers above each other, and a tool that calls other functions than it is called for.
fn stacks_of_several_tools(mpi: Mpi) -> Verdict {
    let rows: &[&str] = &["above_tbcast", "tbcast", "in_rows"];
    let stacks = [("rows", rows), ("others", &["in_others", "in_others"])];
    let outcome = Config::new(mpi, &["switch"], &stacks, &["above_tbcast", "in_rows", "in_others"])?.run(mpi);
    finished(&outcome)?;
    let tables = Tables::of(&outcome);
    tables.expect_calls("above_tbcast", "MPI_Bcast", 4)?;
    tables.expect_calls("above_tbcast", "MPI_Send", 0)?;
    tables.expect_calls("in_rows", "MPI_Bcast", 0)?;
    // Two rows of two: one message each.
    tables.expect_calls("in_rows", "MPI_Send", 2)?;
    tables.expect_calls("in_rows", "MPI_Recv", 2)?;
    tables.expect_calls("in_others", "MPI_Send", 0)?;
    tables.expect_calls("in_others", "MPI_Init", 4)?;
    // The outer one of both sums up above the inner one, whose table comes last.
    tables.expect_calls("in_others", "MPI_Reduce", 4)?;
    if outcome.count("in_others: MPI calls") == 2 { Ok(()) } else { Err(outcome.report().into()) }
}

/// Instances of one library that is loaded when the first stack is opened.
fn native_tools_in_both(mpi: Mpi) -> Verdict {
    let stacks: [(&str, &[&str]); 2] = [("rows", &["counter", "tbcast", "in_rows"]), ("others", &["counter"])];
    let outcome = Config::new(mpi, &["switch"], &stacks, &["in_rows"])?.run(mpi);
    finished(&outcome)?;
    let tables = Tables::of(&outcome);
    // The stack of the others is loaded first.
    tables.expect_calls("counter", "MPI_Allreduce", 4)?;
    tables.expect_calls("counter", "MPI_Bcast", 0)?;
    tables.expect_calls("counter#2", "MPI_Allreduce", 12)?;
    tables.expect_calls("counter#2", "MPI_Bcast", 4)?;
    tables.expect_calls("in_rows", "MPI_Bcast", 0)?;
    Ok(tables.expect_calls("in_rows", "MPI_Send", 2)?)
}

fn empty_stacks(mpi: Mpi) -> Verdict {
    let stacks: [(&str, &[&str]); 2] = [("rows", &[]), ("others", &[])];
    finished(&Config::new(mpi, &["switch"], &stacks, &[])?.run(mpi))
}

/// The reason and the hint are there, and the program has not gone on without its tools.
fn refused(outcome: &Outcome, reason: &str, hint: &str) -> Verdict {
    let said = outcome.said();
    let is_said = |text: &str| said.iter().any(|line| line.contains(text));
    if outcome.status != 0 && is_said(reason) && is_said(hint) && outcome.count("rows: 2 processes") == 0 {
        Ok(())
    } else {
        Err(format!("not refused with {reason:?} and {hint:?}\n{}", outcome.report()).into())
    }
}

fn unknown_stack(mpi: Mpi) -> Verdict {
    let stacks: [(&str, &[&str]); 2] = [("row", &[]), ("others", &[])];
    let outcome = Config::new(mpi, &["switch"], &stacks, &[])?.run(mpi);
    refused(&outcome, "error: there is no stack `rows` in ", "hint: [stacks] rows = ")?;
    // The tool gets an error class, and says so itself.
    let class = if mpi == Mpi::Mpich { 12 } else { 13 };
    let line = format!("switch: QMPIX_Stack_open failed with error class {class}");
    if outcome.stderr.contains(&line) { Ok(()) } else { Err(outcome.report().into()) }
}

fn unknown_tool(mpi: Mpi) -> Verdict {
    let stacks: [(&str, &[&str]); 2] = [("rows", &["in_row"]), ("others", &[])];
    let config = Config::new(mpi, &["switch"], &stacks, &["in_rows"])?;
    let hint = "hint: did you mean `in_rows`?";
    refused(&config.run(mpi), "error: [stacks] rows: no tool `in_row` found in ", hint)?;
    refused(&config.run_by_hand(mpi), "error: in_row: no tool `in_row` found in ", hint)
}

fn thesis_tool(mpi: Mpi) -> Verdict {
    let stacks: [(&str, &[&str]); 2] = [("rows", &["t1"]), ("others", &[])];
    let outcome = Config::new(mpi, &["switch"], &stacks, &[])?.run(mpi);
    refused(&outcome, "tools of the 2018 prototype have their place in the main stack only", "hint: ")
}
