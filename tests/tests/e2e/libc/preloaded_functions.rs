//! A library that the user preloads for a function of glibc: tools in namespaces get that, as under `LD_PRELOAD`.

use qmpi_tests::{Job, Mpi, Trial, Verdict, compile, on_each_mpi, program};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[("of_a_library_with_versions", &Mpi::ALL, of_a_library_with_versions)])
}

fn of_a_library_with_versions(mpi: Mpi) -> Verdict {
    let library = compile::companion(mpi, "preloaded_function.c");
    let tool = compile::companion(mpi, "asks_libc_version.c");
    let ring = Job::new(mpi, 1, &program(mpi, "ring.c"));
    let lines = ["version: of the preloaded library".to_owned(), "done".to_owned()];
    ring.clone().preload(&tool).preload(&library).run().expect(0, &lines)?;
    let stack = ring.stack(&[&tool.display().to_string()]).env("LD_PRELOAD", library.display().to_string());
    Ok(stack.run().expect(0, &lines)?)
}
