//! Tools from before MPI-4 in programs that call functions with large counts (`MPI_Send_c`): what fits into an `int` comes to the tool's
//! `MPI_Send`, with every argument; what does not goes past it, and is said.

use qmpi_tests::large_counts::LargeCounts;
use qmpi_tests::{Job, Library, Mpi, Trial, Verdict, compile, product, program};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    let mut trials = Library::trials("each_function", |_| true, each_function);
    trials.extend(Library::trials("stored", Library::has_large_counts, stored));
    trials.extend(Library::trials("errors", Library::has_large_counts, errors));
    trials.extend(Library::trials("fortran", |library| library == Library::Debian(Mpi::Mpich), fortran));
    trials
}

/// Every function with values at the bounds of `int`, in arguments and in arrays. The layer below answers what goes past the tool, so that
/// the functions need not be of the MPI library.
fn each_function(library: Library) -> Verdict {
    let LargeCounts { old, below, program } = LargeCounts::write();
    let outcome = library.run(3, &program, &[&old, &below], &[]);
    outcome.expect(0, &[])?;
    let right =
        outcome.stdout.lines().filter(|line| line.starts_with("rank ") && line.ends_with(" functions, right")).count();
    if right != 3 || outcome.stdout.lines().count() != 3 {
        return Err(outcome.report().into());
    }
    Ok(())
}

/// Functions that store counts, of the MPI library: the program gets the same answers as without a stack, and the tool sees those that fit.
fn stored(library: Library) -> Verdict {
    let file = |name: &str| product::root().join("tests/programs").join(name);
    let outcome = library.run(1, &file("large_counts_stored.c"), &[&file("large_counts_old.c")], &[]);
    outcome.expect(0, &["stored: 0 wrong", "old: 2 1 1 1 1 1 1 1 1 1 1 2"].map(str::to_owned))?;
    let said = outcome.said().join("\n");
    for function in
        ["MPI_Type_size_c", "MPI_Get_count_c", "MPI_Pack_size_c", "MPI_Buffer_attach_c", "MPI_Buffer_detach_c"]
    {
        if !said.contains(function) {
            return Err(format!("{function} is not said to have gone past\n{}", outcome.report()).into());
        }
    }
    Ok(())
}

/// Errors, and calls of an error handler: as without a tool.
fn errors(library: Library) -> Verdict {
    let file = |name: &str| product::root().join("tests/programs").join(name);
    let (program, tool) = (file("large_counts_errors.c"), file("large_counts_plain.c"));
    let plain = library.run(1, &program, &[], &[]);
    plain.expect(0, &["MPI_Send_c, -1: MPI_ERR_COUNT, 1 calls of the handler", "received 3"].map(str::to_owned))?;
    let outcome = library.run(1, &program, &[&tool], &[]);
    outcome.expect(0, &plain.stdout.lines().map(str::to_owned).collect::<Vec<_>>())?;
    // A send without a count that makes sense is one as well; without a communicator nobody knows how long the arrays are.
    outcome.expect(0, &["plain: 2 sends, 0 receives, 1 broadcasts, 0 sizes, 3 exchanges".to_owned()])?;
    Ok(())
}

/// The module mpi_f08 with counts of MPI_COUNT_KIND.
fn fortran(_: Library) -> Verdict {
    let tool = compile::companion(Mpi::Mpich, "large_counts_plain.c").display().to_string();
    let outcome = Job::new(Mpi::Mpich, 2, &program(Mpi::Mpich, "fortran_large_counts.f90")).stack(&[&tool]).run();
    let lines = [
        "value 7, 4 bytes",
        "plain: 1 sends, 0 receives, 1 broadcasts, 1 sizes, 0 exchanges",
        "plain: 0 sends, 1 receives, 1 broadcasts, 1 sizes, 0 exchanges",
    ];
    Ok(outcome.expect(0, &lines.map(str::to_owned))?)
}
