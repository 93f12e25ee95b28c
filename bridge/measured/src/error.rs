//! What cannot be read, or not be compared: one line, one hint.

use std::path::{Path, PathBuf};

/// Why there is nothing to show.
#[derive(Debug, thiserror::Error)]
pub enum MeasuredError {
    /// A directory of `--report` that has nothing to show.
    #[error("{}: {problem}", .path.display())]
    Report {
        /// The directory, or a file in it.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },

    /// A mask that is no regular expression.
    #[error("mask `{pattern}`: {problem}")]
    Mask {
        /// As given.
        pattern: String,
        /// What is wrong.
        problem: String,
    },
}

impl MeasuredError {
    /// A directory, or a file in it, with which something is wrong.
    pub fn report(path: &Path, problem: impl ToString) -> Self {
        Self::Report { path: path.to_owned(), problem: problem.to_string() }
    }

    /// What the user can do about it, in one line.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Report { .. } => {
                "`qmpi run --report=DIR ...` writes it; each rank adds its record at MPI_Finalize and when it ends"
            }
            Self::Mask { .. } => "a mask is a regular expression, as of the crate regex",
        }
    }
}
