//! Cells of the table in docs/matrix.md: tests note what they saw work, `tests/matrix_table` makes the table of it.

use std::io::Write;

use crate::{Mpi, product};

/// Notes what a check saw, as a line `MPI, row, column, what` in `target/tests/matrix/TEST.tsv`. Notes of earlier runs stay; the
/// last of several for one cell counts.
pub fn note(test: &str, mpi: Mpi, row: &str, column: &str, what: &str) {
    let directory = product::target().join("tests/matrix");
    // Notes are for people: a test does not fail for lack of them.
    let _ = std::fs::create_dir_all(&directory);
    let file = std::fs::OpenOptions::new().create(true).append(true).open(directory.join(format!("{test}.tsv")));
    if let Ok(mut file) = file {
        // One write, as checks run beside each other.
        let _ = file.write_all(format!("{}\t{row}\t{column}\t{what}\n", mpi.name()).as_bytes());
    }
}
