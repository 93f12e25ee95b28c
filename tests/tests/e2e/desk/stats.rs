//! `qmpi run --stats`: calls on all ranks together, against what tools count themselves.

use qmpi_tests::{Job, Mpi, Tables, Trial, Verdict, on_each_mpi, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[("printed_at_the_end", &Mpi::ALL, printed_at_the_end), ("status", &Mpi::ALL, status)])
}

/// The columns are the program, the layer, and MPI.
fn printed_at_the_end(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let outer = format!("outer={}", tool(mpi, "counter").display());
    let report = format!("--report={}", directory.path().display());
    let job = Job::new(mpi, 4, &program(mpi, "ring.c")).stack(&[&outer]).env("COUNTER", "label=outer");
    let outcome = job.option("--stats").option(&report).run();
    outcome.expect(0, &["done".to_owned()])?;
    let row = |function: &str| {
        let words = outcome.stderr.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        words.into_iter().find(|words| words.first() == Some(&function)).unwrap_or_default().join(" ")
    };
    for (function, calls) in [("MPI_Send", "MPI_Send 12 12 12"), ("MPI_Wtime", "MPI_Wtime 5 5")] {
        if row(function) != calls {
            return Err(format!("{} and not {calls}\n{}", row(function), outcome.report()).into());
        }
    }
    for (function, (calls, _)) in Tables::of(&outcome).get("outer")? {
        // It adds calls of MPI_Reduce itself: `4 → 8`.
        if !row(function).split(' ').any(|word| word == calls.to_string()) {
            return Err(format!("the tool counts {calls} {function}\n{}", outcome.report()).into());
        }
    }
    if outcome.stderr.contains("Calls on 4 of 4 ranks.") { Ok(()) } else { Err(outcome.report().into()) }
}

/// The command ends as the job does.
fn status(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let report = format!("--report={}", directory.path().display());
    let job = Job::new(mpi, 2, &program(mpi, "report_calls.c")).args(&["1".to_owned()]);
    let outcome = job.option("--stats").option(&report).run();
    let lines = outcome.stderr.lines().filter(|line| line.contains("MPI_Comm_rank")).count();
    if outcome.status == 0 && lines == 1 { Ok(()) } else { Err(outcome.report().into()) }
}
