//! A PMPI tool that the application brings itself, linked or preloaded: it comes before the stack, and its `PMPI_*` calls
//! enter the stack.

use std::fmt::Write;
use std::path::Path;

use libtest_mimic::Failed;
use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, compile, on_each_mpi, product, program, tool, variant};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("linked", &Mpi::ALL, linked),
        ("preloaded_before_us", &Mpi::ALL, |mpi| preloaded(mpi, Side::Before)),
        ("preloaded_behind_us", &Mpi::ALL, |mpi| preloaded(mpi, Side::Behind)),
        ("preloaded_by_the_user_of_run", &Mpi::ALL, |mpi| preloaded(mpi, Side::Environment)),
        ("rewritten_tables", &Mpi::ALL, rewritten_tables),
        ("awkward_no_needed", &Mpi::ALL, |mpi| awkward(mpi, "no_needed")),
        ("awkward_calls_down", &Mpi::ALL, |mpi| awkward(mpi, "mpi_calls_down")),
        ("awkward_closure", &Mpi::ALL, |mpi| awkward(mpi, "closure")),
        ("awkward_rtld_next", &Mpi::ALL, |mpi| awkward(mpi, "rtld_next")),
        ("awkward_rtld_next_pmpi", &Mpi::ALL, |mpi| awkward(mpi, "rtld_next_pmpi")),
        ("awkward_defines_pmpi", &Mpi::ALL, |mpi| awkward(mpi, "defines_pmpi")),
        ("awkward_many_pmpi", &Mpi::ALL, |mpi| awkward(mpi, "many_pmpi")),
        ("awkward_goes_on_in_fortran", &[Mpi::OpenMpi], |mpi| awkward(mpi, "goes_on_in_fortran")),
    ])
}

/// Where a preloaded tool stands.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    /// `LD_PRELOAD=tool:libqmpi.so`
    Before,
    /// `LD_PRELOAD=libqmpi.so:tool`
    Behind,
    /// `LD_PRELOAD=tool qmpi run ...`
    Environment,
}

fn linked(mpi: Mpi) -> Verdict {
    let counting = program(mpi, "linked_tool.c");
    let with_stack = |job: Job, tools: &[&str]| job.stack(tools);
    check_counting(mpi, &Job::new(mpi, 2, &counting), with_stack)?;
    let tracing = program(mpi, "linked_order.c");
    check_tracing(mpi, &Job::new(mpi, 2, &tracing), "linked_order", with_stack)
}

fn preloaded(mpi: Mpi, side: Side) -> Verdict {
    let ring = program(mpi, "ring.c");
    let directory = tempfile::tempdir()?;
    // Under a name of its own, which is its label in the trace.
    let tracing = directory.path().join("own_order.so");
    std::fs::copy(tool(mpi, "order"), &tracing)?;
    let place = |tool: &Path| {
        let tool = tool.to_owned();
        move |job: Job, tools: &[&str]| match side {
            Side::Before => job.preload(&tool).by_hand(&tools.join(",")),
            Side::Behind => job.by_hand(&tools.join(",")).preload(&tool),
            Side::Environment => job.env("LD_PRELOAD", tool.display().to_string()).stack(tools),
        }
    };
    let job = Job::new(mpi, 2, &ring);
    check_counting(mpi, &job, place(&tool(mpi, "base_tool")))?;
    check_tracing(mpi, &job, "own_order", place(&tracing))
}

/// Tools that are in the way of a simple rule: each says what it says without us, and each call enters the stack.
fn awkward(mpi: Mpi, name: &str) -> Verdict {
    let library = tool(mpi, name);
    let counter = tool(mpi, "counter").display().to_string();
    let linked = Job::new(mpi, 2, &compile::program_with_tool(mpi, "ring.c", name));
    let ring = Job::new(mpi, 2, &program(mpi, "ring.c"));
    let preload = library.display().to_string();
    let plain = ring.clone().preload(&library).run();
    plain.expect(0, &["done".to_owned()])?;
    let verdict = plain.stdout.lines().find(|line| line.starts_with("tool ")).ok_or_else(|| plain.report())?.to_owned();
    let mut wrong = String::new();
    for (mode, job) in [
        ("linked, empty stack", linked.clone().stack(&[])),
        ("linked", linked.stack(&[&counter])),
        ("before us", ring.clone().preload(&library).by_hand(&counter)),
        ("behind us", ring.clone().by_hand(&counter).preload(&library)),
        ("by the user of run", ring.env("LD_PRELOAD", preload).stack(&[&counter])),
    ] {
        let outcome = job.run();
        let said: Vec<&str> = outcome.stdout.lines().filter(|line| line.starts_with("tool ")).collect();
        if outcome.status != 0 || said != [verdict.as_str()] {
            let _ = writeln!(wrong, "{mode}: {said:?} instead of {verdict:?}, status {}", outcome.status);
        }
        let counted: Vec<String> = calls(&outcome).collect();
        let enters = ["MPI_Send 6", "MPI_Finalize 2"].iter().all(|line| counted.iter().any(|known| known == line));
        if !enters && !mode.contains("empty") {
            let _ = writeln!(wrong, "{mode}: its calls do not enter the stack: {counted:?}");
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.into()) }
}

/// The tool counts what it counts without us, and the tools below it count its calls.
fn check_counting(mpi: Mpi, job: &Job, with_stack: impl Fn(Job, &[&str]) -> Job) -> Verdict {
    let counter = tool(mpi, "counter").display().to_string();
    let own = "tool base_tool: ok calls=9".to_owned();
    let once = |outcome: &Outcome| -> Verdict {
        outcome.expect(0, &["done".to_owned(), own.clone()])?;
        let silent = outcome.said().is_empty();
        let once = outcome.count("tool base_tool") == 1;
        if silent && once { Ok(()) } else { Err(format!("not once, or not silent\n{}", outcome.report()).into()) }
    };
    once(&with_stack(job.clone(), &[]).run()).map_err(|failed| in_mode("empty stack", failed))?;
    for instances in [1, 2] {
        let tools = vec![counter.as_str(); instances];
        let outcome = with_stack(job.clone(), &tools).run();
        once(&outcome).map_err(|failed| in_mode("counters below", failed))?;
        for line in ["MPI_Init 2", "MPI_Send 6", "MPI_Recv 6", "MPI_Bcast 2", "MPI_Barrier 2", "MPI_Finalize 2"] {
            if calls(&outcome).filter(|counted| counted == line).count() != instances {
                return Err(format!("not {instances} times {line}\n{}", outcome.report()).into());
            }
        }
    }
    Ok(())
}

/// "FUNCTION CALLS" of each row of each counter's table.
fn calls(outcome: &Outcome) -> impl Iterator<Item = String> {
    outcome.stdout.lines().filter(|line| line.starts_with("  MPI_")).map(|line| {
        let mut words = line.split_whitespace();
        format!("{} {}", words.next().unwrap_or_default(), words.next().unwrap_or_default())
    })
}

/// Each call comes to the tool first, then to each layer, and goes back in the opposite order.
fn check_tracing(mpi: Mpi, job: &Job, own: &str, with_stack: impl Fn(Job, &[&str]) -> Job) -> Verdict {
    let order = tool(mpi, "order").display().to_string();
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("trace");
    let job = job.clone().env("ORDER_FILE", file.display().to_string());
    let trace = |tools: &[&str]| -> Result<Vec<String>, Failed> {
        let outcome = with_stack(job.clone(), tools).run();
        outcome.expect(0, &["done".to_owned()])?;
        let text =
            std::fs::read_to_string(&file).map_err(|error| format!("no trace: {error}\n{}", outcome.report()))?;
        std::fs::remove_file(&file)?;
        Ok(text.lines().map(str::to_owned).collect())
    };
    let alone = trace(&[])?;
    let mut expected = Vec::new();
    for pair in alone.chunks(2) {
        let function = pair[0].rsplit(' ').next().unwrap_or_default();
        if pair[0] != format!("enter {own} {function}") || pair.get(1) != Some(&format!("leave {own} {function}")) {
            return Err(format!("empty stack: {pair:?} is no call of {own}").into());
        }
        let labels = [own, "order", "order"];
        expected.extend(labels.iter().map(|label| format!("enter {label} {function}")));
        expected.extend(labels.iter().rev().map(|label| format!("leave {label} {function}")));
    }
    if alone.len() != 2 * 26 {
        return Err(format!("empty stack: {} lines are not 26 calls", alone.len()).into());
    }
    let stacked = trace(&[&order, &order])?;
    if stacked != expected {
        return Err(format!("two tools below: {stacked:#?}\ninstead of {expected:#?}").into());
    }
    Ok(())
}

/// A tool as those that are made with GOTCHA, before and behind libqmpi.so, and with an ordinary wrapper as a layer: start-up leaves the
/// calls alone that such a tool has led to itself.
fn rewritten_tables(mpi: Mpi) -> Verdict {
    let tool = compile::companion(mpi, "rewrites_tables.c");
    let counter = compile::tool(mpi, "counter").display().to_string();
    let job = Job::alone(mpi, &program(mpi, "ring.c"));
    let seen = ["rewrites_tables: 1 calls".to_owned()];
    job.clone().preload(&tool).run().expect(0, &seen)?;
    let jobs = [
        ("before", job.clone().preload(&tool).by_hand(&counter)),
        ("by the user of run", job.clone().env("LD_PRELOAD", tool.display().to_string()).stack(&[&counter])),
        ("behind", job.clone().by_hand(&counter).preload(&tool)),
    ];
    let without_stack = job.clone().preload(&product::runtime()).preload(&tool).run();
    without_stack.expect(0, &seen).map_err(|reason| format!("without a stack: {reason}"))?;
    for (mode, job) in jobs {
        let outcome = job.run();
        outcome.expect(0, &seen).map_err(|reason| format!("{mode}: {reason}"))?;
        if outcome.count("  MPI_Barrier ") != 1 {
            return Err(format!("{mode}: the stack does not see the call\n{}", outcome.report()).into());
        }
    }
    let layer = variant::build(mpi, "tests/programs/rewrites_tables.c", "rewrites_tables_layer.so", &["-DAS_LAYER"]);
    let layer = layer.display().to_string();
    job.clone().stack(&[&layer]).run().expect(0, &seen).map_err(|reason| format!("in a layer: {reason}"))?;
    let outcome = job.stack(&[&layer, &counter]).run();
    outcome.expect(0, &seen)?;
    if outcome.count("  MPI_Barrier ") != 1 {
        return Err(format!("the layer below does not see the call\n{}", outcome.report()).into());
    }
    Ok(())
}

fn in_mode(mode: &str, failed: Failed) -> Failed {
    format!("{mode}: {}", failed.message().unwrap_or_default()).into()
}
