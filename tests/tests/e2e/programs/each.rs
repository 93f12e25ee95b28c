//! Every program of `tests/programs`, on every MPI: without us, with an empty stack, and with two tools.
//! Its output and its exit status must always be the same.

use libtest_mimic::Failed;
use qmpi_tests::{Case, Job, Mpi, Outcome, Source, Trial, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for mpi in Mpi::ALL {
        for source in Source::all("tests/programs") {
            if !source.runs_on(mpi) || source.is_companion {
                continue;
            }
            for case in source.cases_on(mpi) {
                let (source, case) = (source.clone(), case.clone());
                let name = format!("{}::{}::{}", mpi.name(), source.name, case.args.join("-"));
                trials.push(Trial::test(name, move || {
                    mpi.require();
                    same_in_all_modes(mpi, &source, &case)
                }));
            }
        }
    }
    trials
}

fn same_in_all_modes(mpi: Mpi, source: &Source, case: &Case) -> Result<(), Failed> {
    let file = source.path.file_name().unwrap_or_default().to_string_lossy();
    let job = Job::new(mpi, source.ranks, &program(mpi, &file)).args(&case.args);
    let plain = job.run();
    if case.fails_on(mpi) {
        return fails_by_itself(&job, &plain, source, case);
    }
    plain.expect(source.exit_status, &case.stdout).map_err(|reason| format!("without us: {reason}"))?;

    let empty = job.clone().stack(&[]).run();
    empty.expect(source.exit_status, &case.stdout).map_err(|reason| format!("empty stack: {reason}"))?;
    if empty.lines() != plain.lines() {
        return Err(format!("empty stack: prints something else\n{}\n{}", plain.report(), empty.report()).into());
    }
    let said: Vec<&str> = empty.stderr.lines().filter(|line| line.starts_with("qmpi")).collect();
    if !said.is_empty() {
        return Err(format!("empty stack: not silent\n{}", empty.report()).into());
    }

    let tools = ["counter", "tbcast"].map(|name| tool(mpi, name).display().to_string());
    let stacked = job.clone().env("COUNTER", "file=/dev/null").stack(&[&tools[0], &tools[1]]).run();
    stacked.expect(source.exit_status, &case.stdout).map_err(|reason| format!("two tools: {reason}"))?;
    if stacked.lines() != plain.lines() {
        return Err(format!("two tools: prints something else\n{}\n{}", plain.report(), stacked.report()).into());
    }
    Ok(())
}

/// A case that this release of the MPI cannot do: it must fail without us, or the directive is wrong, and in the same way with us.
fn fails_by_itself(job: &Job, plain: &Outcome, source: &Source, case: &Case) -> Result<(), Failed> {
    if plain.expect(source.exit_status, &case.stdout).is_ok() {
        return Err(format!("without us it does not fail, as `fails-on` says\n{}", plain.report()).into());
    }
    let empty = job.clone().stack(&[]).run();
    if empty.status == plain.status {
        return Ok(());
    }
    Err(format!("empty stack: fails in another way\n{}\n{}", plain.report(), empty.report()).into())
}
