//! A tool that keeps MPI_Finalize from the layers below it for ever is named, once, also with `-q`; one that puts it off to exit is not, as
//! nothing is lost.

use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, compile, on_each_mpi, program, tool};

/// What the command says about a tool that has no way to pass MPI_Finalize on.
const BEFOREHAND: &str = "it intercepts MPI_Finalize and never calls PMPI_Finalize";

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("put_off_above_another", &Mpi::ALL, put_off_above_another),
        ("put_off_innermost", &Mpi::ALL, put_off_innermost),
        ("dropped", &Mpi::ALL, dropped),
        ("well_behaved", &Mpi::ALL, well_behaved),
    ])
}

fn run(mpi: Mpi, tools: &[&str]) -> Outcome {
    run_job(Job::new(mpi, 2, &program(mpi, "ring.c")), mpi, tools, "warn")
}

/// One process without a launcher.
fn run_alone(mpi: Mpi, tools: &[&str], log: &str) -> Outcome {
    run_job(Job::alone(mpi, &program(mpi, "ring.c")), mpi, tools, log)
}

fn run_job(job: Job, mpi: Mpi, tools: &[&str], log: &str) -> Outcome {
    let paths: Vec<String> = tools.iter().map(|name| path(mpi, name)).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    job.env("ORDER_FILE", "/dev/null").env("QMPI_LOG", log).stack(&paths).run()
}

fn path(mpi: Mpi, name: &str) -> String {
    let path = match name {
        "drop_finalize" => compile::companion(mpi, "drop_finalize.c"),
        _ => tool(mpi, name),
    };
    path.display().to_string()
}

/// Exactly one message of the runtime, which names `layer`, and its hint.
fn accuses(outcome: &Outcome, layer: &str) -> Verdict {
    let said = by_runtime(outcome);
    let right = matches!(said[..], [message, hint]
        if message.contains(layer) && message.contains("MPI_Finalize") && hint.contains("hint: ") && hint.contains(layer));
    if right { Ok(()) } else { Err(format!("not one message that names {layer}\n{}", outcome.report()).into()) }
}

/// Those below see the call at exit, and report.
fn put_off_above_another(mpi: Mpi) -> Verdict {
    for tools in [&["defer_finalize", "counter"][..], &["order", "defer_finalize", "base_tool", "counter"]] {
        let outcome = run(mpi, tools);
        outcome.expect(0, &["done".to_owned(), "tool defer_finalize: ok calls=3".to_owned()])?;
        if !outcome.stdout.contains("  MPI_Finalize ") {
            return Err(format!("the counter has lost its report\n{}", outcome.report()).into());
        }
        silent(&outcome)?;
    }
    let outcome = run(mpi, &["defer_finalize", "reports_at_exit", "counter"]);
    outcome.expect(0, &["done".to_owned()])?;
    silent(&outcome)
}

fn put_off_innermost(mpi: Mpi) -> Verdict {
    for tools in [&["defer_finalize"][..], &["counter", "defer_finalize"], &["order", "base_tool", "defer_finalize"]] {
        let outcome = run(mpi, tools);
        outcome.expect(0, &["done".to_owned(), "tool defer_finalize: ok calls=3".to_owned()])?;
        silent(&outcome)?;
    }
    Ok(())
}

/// Without a launcher, whose status would be by chance: hydra may or may not notice that a process has ended without PMPI_Finalize,
/// and kills those that have not ended yet if it does.
fn dropped(mpi: Mpi) -> Verdict {
    let natively = Job::alone(mpi, &program(mpi, "ring.c")).preload(&compile::companion(mpi, "drop_finalize.c")).run();
    natively.expect(natively.status, &["done".to_owned()])?;
    let outcome = run_alone(mpi, &["drop_finalize", "counter"], "warn");
    outcome.expect(natively.status, &["done".to_owned()])?;
    accuses(&outcome, "drop_finalize.so")?;
    if !outcome.stderr.contains(BEFOREHAND) {
        return Err(format!("no warning beforehand\n{}", outcome.report()).into());
    }
    // With -q as well.
    let quiet = run_alone(mpi, &["drop_finalize", "counter"], "error");
    quiet.expect(natively.status, &["done".to_owned()])?;
    accuses(&quiet, "drop_finalize.so")?;
    let innermost = run_alone(mpi, &["counter", "drop_finalize"], "warn");
    innermost.expect(natively.status, &["done".to_owned()])?;
    silent(&innermost)
}

/// Tools that end in a jump to PMPI_Finalize, that call it and go on, that look at it from callbacks and exit handlers.
fn well_behaved(mpi: Mpi) -> Verdict {
    for tools in [
        &["counter", "base_tool"][..],
        &["finalize_callback", "atexit", "counter"],
        &["tbcast", "order", "mpi_calls_self", "stdout_pipe"],
    ] {
        let outcome = run(mpi, tools);
        outcome.expect(0, &["done".to_owned()])?;
        silent(&outcome)?;
    }
    // A program that ends without MPI_Finalize is its own affair.
    let outcome =
        Job::new(mpi, 1, &program(mpi, "no_mpi.c")).stack(&[&path(mpi, "counter"), &path(mpi, "order")]).run();
    silent(&outcome)
}

/// What was said in the ranks: not the warning that the command gives beforehand, from an inspection of the file.
fn by_runtime(outcome: &Outcome) -> Vec<&str> {
    outcome.said().into_iter().filter(|line| !line.contains(BEFOREHAND)).collect()
}

fn silent(outcome: &Outcome) -> Verdict {
    if by_runtime(outcome).is_empty() { Ok(()) } else { Err(format!("not silent\n{}", outcome.report()).into()) }
}
