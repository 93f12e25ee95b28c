//! A mixed stack under valgrind: no race that helgrind reports, and no invalid access and no decision on unset memory that memcheck
//! reports, from start-up to exit, is libqmpi's. What they find in MPI and in the tools is theirs. `planted.rs` shows that defects are seen.

use qmpi_tests::valgrind::{BEHIND_A_MUTEX, Tool};
use qmpi_tests::{Mpi, Trial, Verdict, mixed_stack, on_each_mpi, product};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    let mut trials = on_each_mpi(&[
        ("memory_of_calls", &Mpi::ALL, |mpi| calls(mpi, Tool::Memcheck)),
        ("memory_of_named_stacks", &Mpi::ALL, |mpi| named_stacks(mpi, Tool::Memcheck)),
        ("races_of_calls", &Mpi::ALL, |mpi| calls(mpi, Tool::Helgrind)),
        ("races_of_named_stacks", &Mpi::ALL, |mpi| named_stacks(mpi, Tool::Helgrind)),
    ]);
    trials.push(Trial::test("the_file_that_is_left_out_is_safe", the_file_that_is_left_out_is_safe));
    trials
}

fn calls(mpi: Mpi, tool: Tool) -> Verdict {
    Ok(mixed_stack::calls(tool, mpi, &product::runtime())?.expect_none_of_ours()?)
}

fn named_stacks(mpi: Mpi, tool: Tool) -> Verdict {
    Ok(mixed_stack::named_stacks(tool, mpi, &product::runtime())?.expect_none_of_ours()?)
}

/// Accesses below functions of one file are not counted, because the compiler rules races out there.
fn the_file_that_is_left_out_is_safe() -> Verdict {
    let text = std::fs::read_to_string(product::root().join(BEHIND_A_MUTEX))?;
    let statics: Vec<&str> = text.lines().filter(|line| line.contains("static ") && line.ends_with(';')).collect();
    if text.contains("unsafe") || statics.len() != 1 || !statics[0].contains(": Locked<") {
        return Err(
            format!("{BEHIND_A_MUTEX} has `unsafe`, or other variables than one that is locked: {statics:?}").into()
        );
    }
    Ok(())
}
