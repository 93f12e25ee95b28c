//! Variables of one layer for tools that scan `environ`, and what tools and programs change in the environment.

use std::path::PathBuf;

use libtest_mimic::Failed;
use qmpi_tests::against::{number, repeated};
use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, compile, on_each_mpi, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("each_has_its_own", &Mpi::ALL, each_has_its_own),
        ("as_preloaded", &Mpi::ALL, as_preloaded),
        ("changes_are_seen", &Mpi::ALL, changes_are_seen),
        ("its_own_array", &Mpi::ALL, its_own_array),
        ("set_in_threads", &Mpi::ALL, set_in_threads),
    ])
}

fn verdict(value: &str) -> String {
    format!("tool environ_reader: ok calls=2 constructor={value} init={value} once")
}

fn configuration(layers: &[(&str, PathBuf, &str)]) -> Result<(tempfile::TempDir, PathBuf), Failed> {
    let directory = tempfile::tempdir()?;
    let names: Vec<&str> = layers.iter().map(|(name, ..)| *name).collect();
    let sections =
        layers.iter().map(|(name, path, env)| format!("[tool.{name}]\npath = {path:?}\nenv = {{ {env} }}\n"));
    let text = format!("stack = {names:?}\n{}", sections.collect::<String>());
    let config = directory.path().join("qmpi.toml");
    std::fs::write(&config, text)?;
    Ok((directory, config))
}

/// Threads of the program set variables at the same time, which the C library serializes; the tool's environ has all, and its own. The environment is
/// large, so that who walks over it meets changes.
fn set_in_threads(mpi: Mpi) -> Verdict {
    let tool = compile::companion(mpi, "finds_last.c");
    let (_directory, config) = configuration(&[("a", tool.clone(), "FINDS_LAST = \"x\"")])?;
    let mut job = Job::alone(mpi, &program(mpi, "setenv_in_threads.c"));
    for number in 0..2000 {
        job = job.env(&format!("LARGE_{number}"), "value");
    }
    let lines = |own| [format!("finds_last: 2000 of thread 0, own {own}"), "setenv_in_threads: 8000 found".to_owned()];
    job.clone().preload(&tool).run().expect(0, &lines(0))?;
    Ok(repeated("qmpi run", &job.config(&config), number("QMPI_TEST_RUNS", 20), 0, &lines(1))?)
}

fn reports(outcome: &Outcome) -> Vec<&str> {
    outcome.stdout.lines().filter(|line| line.starts_with("tool ")).collect()
}

/// Outermost first: tools report in MPI_Finalize before they pass it on.
fn expect(outcome: &Outcome, expected: &[String]) -> Verdict {
    if outcome.status == 0 && reports(outcome) == expected && outcome.stderr.is_empty() {
        return Ok(());
    }
    Err(format!("not {expected:#?}\n{}", outcome.report()).into())
}

/// With and without a variable of that name in the process; the tools change it at the end, the outermost first.
fn each_has_its_own(mpi: Mpi) -> Verdict {
    let reader = tool(mpi, "environ_reader");
    let layers = [
        ("a", reader.clone(), "ENVIRON_READER = \"first\""),
        ("b", reader, "ENVIRON_READER = \"second\", OTHER = \"x\""),
    ];
    let (_directory, config) = configuration(&layers)?;
    let expected = [verdict("first"), verdict("second")];
    let job = Job::new(mpi, 2, &program(mpi, "ring.c")).config(&config);
    expect_reports(&job.run(), &expected)?;
    expect_reports(&job.clone().env("ENVIRON_READER", "process").run(), &expected)?;
    expect_reports(&job.env("ENVIRON_READER_CLEARS", "1").run(), &expected)
}

fn expect_reports(outcome: &Outcome, expected: &[String]) -> Verdict {
    outcome.expect(0, &["done".to_owned()])?;
    expect(outcome, expected)
}

/// The same tool with the variable in the process's environment.
fn as_preloaded(mpi: Mpi) -> Verdict {
    let reader = tool(mpi, "environ_reader");
    let job = Job::alone(mpi, &program(mpi, "changes_environment.c")).env("ENVIRON_READER", "value");
    let plain = job.clone().preload(&reader).run();
    expect(&plain, &[verdict("value")])?;
    let (_directory, config) = configuration(&[("a", reader, "ENVIRON_READER = \"value\"")])?;
    let bridged = Job::alone(mpi, &program(mpi, "changes_environment.c")).config(&config).run();
    if plain.stdout == bridged.stdout { Ok(()) } else { Err(bridged.report().into()) }
}

/// What one changes, another sees: tool, program, tool with settings.
fn changes_are_seen(mpi: Mpi) -> Verdict {
    let sees = compile::companion(mpi, "sees_environment.c");
    let layers = [("a", sees.clone(), "SEES = \"of a\", SEES_SETS = \"1\""), ("b", sees, "SEES = \"of b\"")];
    let (_directory, config) = configuration(&layers)?;
    let outcome = Job::alone(mpi, &program(mpi, "changes_environment.c")).config(&config).run();
    let seen = |own: &str| format!("tool sees_environment: ok calls=2 own={own} program=program tool=by a");
    expect(&outcome, &[seen("of a"), seen("of b")])
}

/// A tool may store an array of its own to `environ`: that is its environment, and its children's.
fn its_own_array(mpi: Mpi) -> Verdict {
    let stores = compile::companion(mpi, "stores_environ.c");
    let job = Job::alone(mpi, &program(mpi, "alone.c"));
    let said = "tool stores_environ: ok calls=1";
    let plain = job.clone().env("STORES", "1").preload(&stores).run();
    expect(&plain, &[said.to_owned()])?;
    let (_directory, config) = configuration(&[("a", stores, "STORES = \"1\"")])?;
    expect(&job.config(&config).run(), &[said.to_owned()])
}
