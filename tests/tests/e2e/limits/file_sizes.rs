//! A limit of file sizes (`ulimit -f`) that is too small for what a stack keeps in memory: one line, and no rank that is killed by a signal.

use qmpi_tests::against::Failures;
use qmpi_tests::{Job, Mpi, Trial, Verdict, on_each_mpi, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[("refused", &Mpi::ALL, refused), ("left_out", &Mpi::ALL, left_out), ("enough", &Mpi::ALL, enough)])
}

/// The program alone, under a limit of so many KB: a launcher is not under it.
fn limited(mpi: Mpi, kilobytes: usize) -> Job {
    let limit = format!("ulimit -f {kilobytes} && exec \"$@\"");
    Job::alone(mpi, &program(mpi, "ring.c")).inside(&["bash", "-c", &limit, "limited"])
}

/// The same with a stack that is set by hand.
fn stacked(mpi: Mpi, kilobytes: usize) -> Job {
    limited(mpi, kilobytes).by_hand(&tool(mpi, "counter").display().to_string())
}

fn refused(mpi: Mpi) -> Verdict {
    let mut failures = Failures::default();
    for kilobytes in [0, 4, 64] {
        let outcome = stacked(mpi, kilobytes).run();
        let said = outcome.said();
        let is_reason = |line: &&str| line.contains("ulimit -f") && line.contains(&format!(" {} ", kilobytes * 1024));
        if outcome.status != 3 || said.len() != 2 || !said.first().is_some_and(is_reason) {
            failures.note(Err(format!("{kilobytes} KB: not refused with one line and its hint\n{}", outcome.report())));
        }
    }
    failures.verdict()
}

/// The program ends as without a stack: MPICH needs larger files itself.
fn left_out(mpi: Mpi) -> Verdict {
    let reference = limited(mpi, 4).run();
    let outcome = stacked(mpi, 4).env("QMPI_ON_ERROR", "skip").run();
    let said = outcome.said().iter().filter(|line| line.contains("left out") && line.contains("ulimit -f")).count();
    if outcome.status != reference.status || outcome.stdout != reference.stdout || said != 1 {
        return Err(format!("not left out with a line\n{}\n{}", outcome.report(), reference.report()).into());
    }
    Ok(())
}

/// With room for a stack, but not for what is measured: the program runs, with the tool.
fn enough(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let report = directory.path().join("report").display().to_string();
    std::fs::create_dir(&report)?;
    let mut failures = Failures::default();
    for (variable, value) in [("QMPI_REPORT", report.as_str()), ("QMPI_TRACE", "last:1000000"), ("QMPI_CTL", "1")] {
        let job = stacked(mpi, 8192).env(variable, value);
        let job = if variable == "QMPI_TRACE" { job.env("QMPI_REPORT", &*report) } else { job };
        let outcome = job.run();
        failures.note(outcome.expect(0, &["done".to_owned()]).map_err(|reason| format!("{variable}: {reason}")));
        if outcome.count("counter: MPI calls") != 1 {
            failures.note(Err(format!("{variable}: without the tool\n{}", outcome.report())));
        }
    }
    failures.verdict()
}
