//! A process with two MPIs: the program calls one, which opens the other with a scope of its own, as libraries that translate between ABIs do. The
//! stack stands between the program and the library that the program calls.

use qmpi_tests::against::{Failures, same, without_stack};
use qmpi_tests::{Job, Mpi, Trial, Verdict, compile, on_each_mpi, variant};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("functions_alone", &Mpi::ALL, |mpi| in_front(mpi, "functions", &[])),
        ("with_objects", &Mpi::ALL, |mpi| in_front(mpi, "objects", &["-DDATA"])),
    ])
}

fn in_front(mpi: Mpi, name: &str, options: &[&str]) -> Verdict {
    let front = variant::build(mpi, "tests/programs/front_mpi.c", &format!("front_mpi_{name}.so"), options);
    let program = compile::program_with(mpi, "front_mpi_program.c", &front);
    let behind = compile::companion(mpi, "front_mpi_part.c").display().to_string();
    let job = Job::alone(mpi, &program).env("FRONT_MPI", behind);
    let tool = compile::companion(mpi, "front_mpi_tool.c").display().to_string();
    let lines = ["front_mpi_tool: 1 3".to_owned(), "front_mpi_program: done".to_owned()];
    let reference = job.clone().preload(tool.as_ref()).run();
    reference.expect(0, &lines)?;
    let mut failures = Failures::default();
    failures.note(same("libqmpi.so alone", &job.run(), &without_stack(&job).run()));
    failures.same_in_stack(&job, &[&tool], &reference);
    let twice = job.stack(&[&tool, &tool]).run();
    failures.note(twice.expect(0, &lines));
    if twice.count("front_mpi_tool: 1 3") != 2 {
        failures.note(Err(format!("not both layers\n{}", twice.report())));
    }
    failures.verdict()
}
