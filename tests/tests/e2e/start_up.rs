//! How many instructions a process with libqmpi executes from its start to its end, beside one with a preloaded tool. MPI libraries open a
//! hundred plugins in MPI_Init, and each of them is looked at: once.

use std::path::Path;

use libtest_mimic::Failed;
use qmpi_tests::{Job, Mpi, Trial, Verdict, on_each_mpi, product, program, tool};

qmpi_tests::module!(trials);

/// What an empty stack may add to a preloaded tool. It was 19 million for Open MPI where every object was looked at for each that was opened.
const EMPTY: u64 = 6_000_000;
/// What a stack of one tool may add. It was 79 million.
const ONE: u64 = 18_000_000;

fn trials() -> Vec<Trial> {
    on_each_mpi(&[("instructions", &Mpi::ALL, instructions)])
}

/// A process by itself under callgrind, which counts.
fn count(mpi: Mpi, set_up: impl FnOnce(Job) -> Job) -> Result<u64, Failed> {
    let words = ["--tool=callgrind", "--callgrind-out-file=/dev/null", &program(mpi, "ring.c").display().to_string()]
        .map(str::to_owned);
    let outcome = set_up(Job::alone(mpi, Path::new("valgrind")).args(&words)).within(300).run();
    outcome.expect(0, &["done".to_owned()])?;
    let counted = outcome.stderr.lines().find_map(|line| line.rsplit_once("Collected : ")?.1.trim().parse().ok());
    Ok(counted.ok_or_else(|| outcome.report())?)
}

fn instructions(mpi: Mpi) -> Verdict {
    let counter = tool(mpi, "counter");
    let preloaded = count(mpi, |job| job.preload(&counter))?;
    let empty = count(mpi, |job| job.preload(&product::runtime()))?;
    let one = count(mpi, |job| job.stack(&[&counter.display().to_string()]))?;
    println!("preloaded {preloaded}, empty stack {empty}, one tool {one}");
    for (what, count, most) in [("an empty stack", empty, EMPTY), ("a stack of one tool", one, ONE)] {
        if count > preloaded + most {
            return Err(format!("{what}: {count} instructions, with the tool preloaded {preloaded}").into());
        }
    }
    Ok(())
}
