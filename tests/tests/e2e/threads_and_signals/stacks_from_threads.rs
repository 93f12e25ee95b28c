//! Tables are made and named stacks are opened by eight threads at once: none is lost, and each has its own functions.

use std::fmt::Write;

use libtest_mimic::Failed;
use qmpi_tests::against::repeated;
use qmpi_tests::{Job, Mpi, Trial, Verdict, compile, on_each_mpi, program};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("one_thread", &Mpi::ALL, |mpi| opened(mpi, 1, 1000, 125, 1)),
        ("eight_threads", &Mpi::ALL, |mpi| opened(mpi, 8, 1000, 125, 10)),
        ("eight_threads_and_few_stacks", &Mpi::ALL, |mpi| opened(mpi, 8, 24, 4, 20)),
        // More instances than there are namespaces, one after another.
        ("hundred_instances", &Mpi::ALL, |mpi| opened(mpi, 1, 66, 1, 1)),
    ])
}

/// There is no plain `LD_PRELOAD` of a QMPI tool: what one thread does is what eight must do. The tool in the stacks adds to the
/// size of a communicator, once for each instance; that much it does under plain `LD_PRELOAD` too.
fn opened(mpi: Mpi, threads: usize, stacks: usize, each: usize, runs: usize) -> Verdict {
    let directory = tempfile::tempdir()?;
    let job = Job::alone(mpi, &program(mpi, "asks_size.c")).env("OPENS_STACKS", format!("{threads},{stacks},{each}"));
    let adds = compile::companion(mpi, "adds_to_size.c");
    job.clone().preload(&adds).run().expect(0, &["asks_size: 1000001".to_owned()])?;
    let config = directory.path().join("qmpi.toml");
    std::fs::write(&config, configuration(mpi)?)?;
    let lines = ["asks_size: 1".to_owned(), format!("opens_stacks: {stacks} stacks, all right")];
    Ok(repeated(&format!("{threads} threads"), &job.config(&config), runs, 0, &lines)?)
}

fn configuration(mpi: Mpi) -> Result<String, Failed> {
    let mut text =
        "stack = [\"opens_stacks\"]\n[stacks]\nnative = [\"native_adds\"]\none = [\"adds\"]\ntwo = [\"adds\", \"adds\"]\n".to_owned();
    let files =
        [("opens_stacks", "opens_stacks.c"), ("adds", "adds_to_size.c"), ("native_adds", "qmpi_adds_to_size.c")];
    for (name, file) in files {
        writeln!(text, "[tool.{name}]\npath = {:?}", compile::companion(mpi, file))?;
    }
    Ok(text)
}
