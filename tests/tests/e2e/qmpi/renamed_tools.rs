//! A QMPI tool by a path under another name: one that registers one tool is that tool; of one that registers several, the command says
//! which there are, before anything is started.

use qmpi_tests::{Job, Mpi, Trial, Verdict, on_each_mpi, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[("of_several", &Mpi::ALL, of_several)])
}

fn of_several(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let renamed = directory.path().join("renamed.so").display().to_string();
    std::fs::copy(tool(mpi, "qmpi_counter"), &renamed)?;
    let job = Job::new(mpi, 2, &program(mpi, "ring.c"));
    for layer in [renamed.clone(), format!("other={renamed}")] {
        let outcome = job.clone().stack(&[&layer]).run();
        let hint = format!("qmpi: hint: write which of them is meant: -t counter={renamed}");
        let said = outcome.said();
        let is_right = matches!(&said[..], [error, last] if error.contains("registers the tools counter, rows, columns") && *last == hint);
        if !is_right || outcome.status != 3 {
            return Err(outcome.report().into());
        }
    }
    let outcome = job.stack(&[&format!("counter={renamed}")]).run();
    outcome.expect(0, &["done".to_owned()])?;
    Ok(())
}
