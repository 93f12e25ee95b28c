//! A mixed stack under valgrind's memcheck, from start-up to exit: no invalid read or write, and no decision that depends on what
//! was never written, is libqmpi's. `planted.rs` shows that it would be seen.

use qmpi_tests::valgrind::Tool;
use qmpi_tests::{Mpi, Trial, mixed_stack, on_each_mpi, product};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("calls_from_threads", &Mpi::ALL, |mpi| {
            Ok(mixed_stack::calls(Tool::Memcheck, mpi, &product::runtime())?.expect_none_of_ours()?)
        }),
        ("named_stacks_from_threads", &Mpi::ALL, |mpi| {
            Ok(mixed_stack::named_stacks(Tool::Memcheck, mpi, &product::runtime())?.expect_none_of_ours()?)
        }),
    ])
}
