//! Threads in a mixed stack under valgrind's helgrind: what it finds in MPI and in the tools is theirs, but no access that it
//! reports may be libqmpi's. `planted.rs` shows that it would be seen.

use qmpi_tests::valgrind::{BEHIND_A_MUTEX, Tool};
use qmpi_tests::{Mpi, Trial, Verdict, mixed_stack, on_each_mpi, product};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    let mut trials = on_each_mpi(&[
        ("calls_from_threads", &Mpi::ALL, |mpi| {
            Ok(mixed_stack::calls(Tool::Helgrind, mpi, &product::runtime())?.expect_none_of_ours()?)
        }),
        ("named_stacks_from_threads", &Mpi::ALL, |mpi| {
            Ok(mixed_stack::named_stacks(Tool::Helgrind, mpi, &product::runtime())?.expect_none_of_ours()?)
        }),
    ]);
    trials.push(Trial::test("the_file_that_is_left_out_is_safe", the_file_that_is_left_out_is_safe));
    trials
}

/// Accesses below functions of one file are not counted, because the compiler rules races out there.
fn the_file_that_is_left_out_is_safe() -> Verdict {
    let text = std::fs::read_to_string(product::root().join(BEHIND_A_MUTEX))?;
    let statics: Vec<&str> = text.lines().filter(|line| line.contains("static ") && line.ends_with(';')).collect();
    if text.contains("unsafe") || statics.len() != 1 || !statics[0].contains(": Mutex<") {
        return Err(format!("{BEHIND_A_MUTEX} has `unsafe`, or other variables than one Mutex: {statics:?}").into());
    }
    Ok(())
}
