//! Tools with an allocator of their own. Preloaded, that of the tool's file is the process's; one of a library comes behind the C library, and serves
//! nobody. In a stack there is one heap, the process's.

use qmpi_tests::against::{Failures, stacked};
use qmpi_tests::{Job, Mpi, Trial, Verdict, compile, on_each_mpi, program, tool, variant};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[("in_a_library", &Mpi::ALL, in_a_library), ("in_the_tool", &Mpi::ALL, in_the_tool)])
}

fn in_a_library(mpi: Mpi) -> Verdict {
    check(mpi, &compile::companion(mpi, "own_allocator_tool.c").display().to_string(), "few")
}

/// Where the tool is loaded, others have blocks of the C library's already.
fn in_the_tool(mpi: Mpi) -> Verdict {
    let own = variant::build(mpi, "tests/programs/own_allocator.c", "own_allocator_in_tool.so", &["-DTOOL"]);
    check(mpi, &own.display().to_string(), "many")
}

/// `preloaded`: how many blocks are the allocator's under `LD_PRELOAD`.
fn check(mpi: Mpi, own: &str, preloaded: &str) -> Verdict {
    let job = Job::new(mpi, 2, &program(mpi, "ring.c"));
    job.clone().preload(own.as_ref()).run().expect(0, &[format!("own_allocator: {preloaded} blocks")])?;
    let counter = tool(mpi, "counter").display().to_string();
    let mut failures = Failures::default();
    for tools in [&[own][..], &[own, own], &[&counter, own], &[own, &counter]] {
        for (mode, job) in stacked(&job, tools) {
            let result = job.run().expect(0, &["own_allocator: few blocks".to_owned()]);
            failures.note(result.map_err(|reason| format!("{mode}, {tools:?}: {reason}")));
        }
    }
    failures.verdict()
}
