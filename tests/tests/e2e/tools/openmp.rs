//! Tools that a run-time library of OpenMP looks for by name (OMPT, `ompt_start_tool`), besides what they wrap of MPI.

use qmpi_tests::against::{Failures, stacked};
use qmpi_tests::{Job, Mpi, Trial, Verdict, compile, on_each_mpi, program};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[("alone", &Mpi::ALL, alone), ("goes_on", &Mpi::ALL, goes_on)])
}

fn alone(mpi: Mpi) -> Verdict {
    let (job, tool) = (Job::alone(mpi, &program(mpi, "openmp.c")), compile::companion(mpi, "openmp_tool.c"));
    let preloaded = job.clone().preload(&tool).run();
    let lines = ["openmp: 9", "openmp_tool: 3 parallel regions, 3 barriers", "openmp_tool: finalized"];
    preloaded.expect(0, &lines.map(str::to_owned))?;
    let mut failures = Failures::default();
    failures.same_in_stack(&job, &[&tool.display().to_string()], &preloaded);
    failures.verdict()
}

/// A tool that hands the run-time library on to the next one: it has barriers of its own to report, the next one both.
fn goes_on(mpi: Mpi) -> Verdict {
    let outer = compile::companion_variant(mpi, "openmp_tool.c", "goes_on", &["-DGOES_ON"]).display().to_string();
    let inner = compile::companion(mpi, "openmp_tool.c").display().to_string();
    let lines = ["openmp_tool: 0 parallel regions, 3 barriers", "openmp_tool: 3 parallel regions, 3 barriers"];
    let mut failures = Failures::default();
    for (_, job) in stacked(&Job::alone(mpi, &program(mpi, "openmp.c")), &[&outer, &inner]) {
        failures.note(job.run().expect(0, &lines.map(str::to_owned)));
    }
    failures.verdict()
}
