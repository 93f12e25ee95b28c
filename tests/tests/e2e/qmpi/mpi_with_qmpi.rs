//! `libqmpi.so` on an MPI that has QMPI itself, whose `PMPI_f` starts a chain of that library's own and ends in its `QMPI_f`.
//!
//! That MPI is `tests/programs/mpi/qmpi_mpi.c`; with `QMPI_TEST_MPICH=mpich_qmpi` it is MPICH built with `--enable-qmpi`
//! (`ci/setup --qmpi-mpich`).

use std::path::Path;

use qmpi_tests::{Job, Mpi, Outcome, Tables, Trial, Verdict, compile, on_each_mpi, product, program, qmpi_mpi, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("empty_stack", &[Mpi::Mpich], empty_stack),
        ("one_tool", &[Mpi::Mpich], one_tool),
        ("all_kinds", &[Mpi::Mpich], all_kinds),
        ("its_own_chain", &[Mpi::Mpich], its_own_chain),
        ("above_its_own_chain", &[Mpi::Mpich], above_its_own_chain),
        ("below_its_own_chain", &[Mpi::Mpich], below_its_own_chain),
        ("in_both_chains", &[Mpi::Mpich], in_both_chains),
        ("name_shifted", &[Mpi::Mpich], name_shifted),
    ])
}

/// One process on such an MPI.
fn job(program: &Path) -> Job {
    match Mpi::Mpich.suffix().as_str() {
        "mpich" => qmpi_mpi::job(program),
        _ => Job::alone(Mpi::Mpich, program),
    }
}

fn one(mpi: Mpi) -> Job {
    job(&program(mpi, "one_process.c"))
}

/// With these tools in the MPI library's own chain.
fn with_own(job: Job, names: &[&str]) -> Job {
    let (variable, list) = qmpi_mpi::tools(names);
    job.env(variable, list)
}

fn finished(outcome: &Outcome) -> Verdict {
    outcome.expect(0, &["one: sum 5, done".to_owned()])?;
    if outcome.said().is_empty() { Ok(()) } else { Err(format!("not silent\n{}", outcome.report()).into()) }
}

/// The calls of the program; each tool that is further out adds a call of MPI_Reduce at the end.
fn expect_calls(outcome: &Outcome, title: &str, tools_above: u64) -> Verdict {
    let tables = Tables::of(outcome);
    for (function, calls) in
        [("MPI_Init", 1), ("MPI_Send", 3), ("MPI_Barrier", 2), ("MPI_Allreduce", 1), ("MPI_Finalize", 1)]
    {
        tables.expect_calls(title, function, calls)?;
    }
    Ok(tables.expect_calls(title, "MPI_Reduce", tools_above)?)
}

/// A layer of the stack under this label.
fn labelled(label: &str, tool: &Path) -> String {
    format!("{label}={}", tool.display())
}

fn empty_stack(mpi: Mpi) -> Verdict {
    finished(&one(mpi).within(20).run())?;
    finished(&one(mpi).within(20).preload(&product::runtime()).run())?;
    finished(&one(mpi).within(20).by_hand("").env("QMPI_LOG", "error").run())
}

/// As under `LD_PRELOAD`, as one layer, and as two.
fn one_tool(mpi: Mpi) -> Verdict {
    let counter = tool(mpi, "counter");
    let native = one(mpi).preload(&counter).run();
    finished(&native)?;
    let stacked = one(mpi).stack(&[&counter.display().to_string()]).run();
    finished(&stacked)?;
    Tables::of(&stacked).expect("counter", Tables::of(&native).get("counter")?)?;
    expect_calls(&stacked, "counter", 0)?;
    // A preloaded PMPI tool above the stack.
    let below = labelled("counter", &tool(mpi, "qmpi_counter"));
    let above = one(mpi).preload(&counter).env("COUNTER", "counter.label=below").by_hand(&below).run();
    finished(&above)?;
    expect_calls(&above, "counter", 0)?;
    expect_calls(&above, "below", 1)
}

fn all_kinds(mpi: Mpi) -> Verdict {
    let (pmpi, qmpi, thesis) = (tool(mpi, "counter"), tool(mpi, "qmpi_counter"), tool(mpi, "thesis_counter"));
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("qmpi.toml");
    let section = |name: &str, path: &Path, more: &str| format!("[tool.{name}]\npath = {path:?}\n{more}\n");
    let label = |name: &str| format!("env = {{ COUNTER = \"label={name}\" }}");
    let sections = section("outer", &pmpi, &label("outer"))
        + &section("counter", &qmpi, "")
        + &section("inner", &pmpi, &label("inner"))
        + &section("thesis", &thesis, "");
    std::fs::write(&file, format!("stack = [\"outer\", \"counter\", \"inner\", \"thesis\", \"counter\"]\n{sections}"))?;
    let outcome = one(mpi).config(&file).run();
    finished(&outcome)?;
    for (title, tools_above) in [("outer", 0), ("counter", 1), ("inner", 2)] {
        expect_calls(&outcome, title, tools_above)?;
    }
    let innermost = Tables::of(&outcome).get("counter#2")?.get("MPI_Send").copied();
    if innermost == Some((3, 12)) {
        Ok(())
    } else {
        Err(format!("counter#2: {innermost:?}\n{}", outcome.report()).into())
    }
}

/// Without a stack the tools of the MPI library's own chain are there as without libqmpi.so.
fn its_own_chain(mpi: Mpi) -> Verdict {
    let counter = tool(mpi, "qmpi_counter");
    let twice = |libraries: &[&Path]| {
        let job = libraries.iter().fold(one(mpi), |job, library| job.preload(library));
        let outcome = with_own(job, &["counter", "counter"]).run();
        finished(&outcome)?;
        expect_calls(&outcome, "counter", 0)?;
        expect_calls(&outcome, "counter#2", 1)
    };
    twice(&[&counter])?;
    twice(&[&product::runtime(), &counter])?;
    twice(&[&counter, &product::runtime()])
}

/// A preloaded library of QMPI tools in the MPI library's own chain, below a stack of PMPI and QMPI tools.
fn above_its_own_chain(mpi: Mpi) -> Verdict {
    let (pmpi, qmpi) = (tool(mpi, "counter"), tool(mpi, "qmpi_counter"));
    for libraries in [[&product::runtime(), &qmpi], [&qmpi, &product::runtime()]] {
        let job = libraries.iter().fold(one(mpi), |job, library| job.preload(library));
        // The instance of the MPI library's chain has another title than the tool of the stack.
        let job = with_own(job, &["counter"]).env("COUNTER", "counter.label=own");
        let outcome = job.env("QMPI_TOOL_LIST", labelled("outer", &pmpi)).run();
        finished(&outcome)?;
        expect_calls(&outcome, "counter", 0)?;
        expect_calls(&outcome, "own", 1)?;
    }
    Ok(())
}

/// `libqmpi_bridge.so` puts PMPI tools into the MPI library's own chain, below a QMPI tool there, and below a stack.
fn below_its_own_chain(mpi: Mpi) -> Verdict {
    let (pmpi, qmpi) = (tool(mpi, "counter"), tool(mpi, "qmpi_counter"));
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("bridge.toml");
    std::fs::write(&file, format!("[tool.inner]\npath = {pmpi:?}\nenv = {{ COUNTER = \"label=inner\" }}\n"))?;
    let job = || {
        let job = one(mpi).preload(&product::runtime()).preload(&product::plugin()).preload(&qmpi);
        with_own(job, &["counter", "inner"]).env("QMPI_BRIDGE_CONFIG", file.display().to_string())
    };
    let own = job().run();
    finished(&own)?;
    expect_calls(&own, "counter", 0)?;
    expect_calls(&own, "inner", 1)?;
    let both = job().env("QMPI_TOOL_LIST", labelled("outer", &pmpi)).env("COUNTER", "counter.label=own").run();
    finished(&both)?;
    for (title, tools_above) in [("counter", 0), ("own", 1), ("inner", 2)] {
        expect_calls(&both, title, tools_above)?;
    }
    Ok(())
}

/// One library, one name, an instance in each chain.
fn in_both_chains(mpi: Mpi) -> Verdict {
    let qmpi = tool(mpi, "qmpi_counter");
    let job = with_own(one(mpi).preload(&product::runtime()).preload(&qmpi), &["counter"]);
    let outcome = job.env("QMPI_TOOL_LIST", labelled("counter", &qmpi)).run();
    finished(&outcome)?;
    // The stack's is initialized first.
    expect_calls(&outcome, "counter", 0)?;
    expect_calls(&outcome, "counter#2", 1)
}

/// `QMPI_f` by name goes past all layers.
fn name_shifted(mpi: Mpi) -> Verdict {
    let program = compile::program_with(mpi, "calls_shifted.c", &product::runtime());
    let passed = ["shifted: rank 0 of 1".to_owned()];
    job(&program).run().expect(0, &passed)?;
    let outcome = job(&program).stack(&[&tool(mpi, "counter").display().to_string()]).run();
    outcome.expect(0, &passed)?;
    let tables = Tables::of(&outcome);
    tables.expect_calls("counter", "MPI_Barrier", 1)?;
    Ok(tables.expect_calls("counter", "MPI_Init", 1)?)
}
