//! Tools from before MPI-4 in programs that call functions with large counts (`MPI_Send_c`): what fits into an `int` comes to the tool's
//! `MPI_Send`, with every argument; what does not goes past it, and is said.

use qmpi_tests::large_counts::LargeCounts;
use qmpi_tests::{Library, Trial, Verdict, product};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    let mut trials = Library::trials("each_function", |_| true, each_function);
    trials.extend(Library::trials("stored", Library::has_large_counts, stored));
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
