//! Functions that an `mpi.h` has as macros only: MPICH's conversions of handles, Open MPI's arithmetic of addresses. They are there as
//! `QMPI_f`, and as what comes next for a tool, and do what the macros do.

use qmpi_tests::{Job, Mpi, Trial, Verdict, compile, on_each_mpi, product, program};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("in_a_program", &Mpi::ALL, in_a_program),
        ("in_a_tool", &Mpi::ALL, in_a_tool),
        ("below_other_tools", &Mpi::ALL, below_other_tools),
    ])
}

/// Three checks for each kind of handle, two for each of six addresses.
fn in_program(mpi: Mpi) -> usize {
    let kinds = if mpi.standard() >= 4 { 11 } else { 10 };
    3 * kinds + 12
}

/// What the tool asks itself, where names of macros are looked up as well: MPICH has none of them since 4.2.
fn in_tool(mpi: Mpi) -> String {
    let has_macros = mpi.defined("MPICH_NUMVERSION").is_none_or(|version| version < 40_200_000);
    format!("{} right, 0 wrong", in_program(mpi) + 9 + usize::from(has_macros))
}

/// Linked with libqmpi.so: with an empty stack, and as the tool of its own stack.
fn in_a_program(mpi: Mpi) -> Verdict {
    let linked = compile::program_with(mpi, "qmpi_macros.c", &product::runtime());
    let of_program = format!("program: {} right, 0 wrong", in_program(mpi));
    for list in ["", "macros"] {
        let outcome = Job::new(mpi, 1, &linked).by_hand(list).run();
        outcome.expect(0, &[of_program.clone(), "done".to_owned()])?;
    }
    Ok(())
}

fn in_a_tool(mpi: Mpi) -> Verdict {
    let tool = compile::companion(mpi, "qmpi_macros.c");
    let job = Job::new(mpi, 1, &program(mpi, "ring.c")).by_hand(&format!("macros={0},macros={0}", tool.display()));
    Ok(job.run().expect(0, &[1, 2].map(|id| format!("macros {id}: {}", in_tool(mpi))))?)
}

/// A PMPI tool above and one below: the functions are still those of no layer.
fn below_other_tools(mpi: Mpi) -> Verdict {
    let pmpi = compile::companion(mpi, "count_pmpi.c");
    let tool = compile::companion(mpi, "qmpi_macros.c");
    let list = format!("{0},macros={1},{0}", pmpi.display(), tool.display());
    let outcome = Job::new(mpi, 1, &program(mpi, "ring.c")).by_hand(&list).run();
    Ok(outcome.expect(0, &[format!("macros 2: {}", in_tool(mpi))])?)
}
