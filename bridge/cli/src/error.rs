//! Everything that stops a command: one line, one hint, one exit status. What only one command says is worded there.

use std::ffi::OsStr;
use std::io;

use qmpi_launch::{LaunchError, Warning};
use qmpi_measured::MeasuredError;
use qmpi_plan::PlanError;
use serde::Serialize;

/// What is wrong, and what to do about it. In JSON as it is printed on stderr.
#[derive(Debug, Serialize)]
pub(crate) struct Error {
    pub(crate) message: String,
    /// What the user can do about it, in one line.
    pub(crate) hint: String,
    /// The exit status that goes with it.
    pub(crate) status: u8,
}

impl Error {
    /// The command line makes no sense: what is wrong, and what would be right.
    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { status: 2, ..Self::failed(message, hint) }
    }

    /// Something is not as it has to be: what, and what to do about it.
    pub(crate) fn failed(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into(), status: 3 }
    }

    /// A tool that cannot be a layer.
    pub(crate) fn refused(layer: &str, refusal: &PlanError) -> Self {
        Self::failed(format!("tool `{layer}`: {refusal}"), refusal.hint())
    }

    /// A stack of `[stacks]` that cannot be opened because of this.
    pub(crate) fn in_named_stack(self, stack: &str) -> Self {
        Self { message: format!("[stacks] {stack}: {}", self.message), ..self }
    }

    /// A command that does not start, whatever the system says of it.
    pub(crate) fn not_executable(command: &OsStr, source: io::Error) -> Self {
        LaunchError::CommandNotExecutable(command.to_string_lossy().into_owned(), source).into()
    }

    /// Stdout, or a file of the command's own, cannot be written.
    pub(crate) fn output(error: impl Into<io::Error>) -> Self {
        Self::failed(format!("cannot write the answer: {}", error.into()), "is the disk full?")
    }
}

/// What stands between the command line and the ranks.
impl From<LaunchError> for Error {
    fn from(error: LaunchError) -> Self {
        Self { message: error.to_string(), hint: error.hint(), status: error.status() }
    }
}

/// What a job recorded.
impl From<MeasuredError> for Error {
    fn from(error: MeasuredError) -> Self {
        Self::failed(error.to_string(), error.hint())
    }
}

/// The tool list, the configuration file or the search for a tool.
impl From<PlanError> for Error {
    fn from(error: PlanError) -> Self {
        LaunchError::from(error).into()
    }
}

/// A file that is not what it should be.
impl From<qmpi_elf::ElfError> for Error {
    fn from(error: qmpi_elf::ElfError) -> Self {
        LaunchError::from(error).into()
    }
}

/// An error that does not stop the command.
impl From<Error> for Warning {
    fn from(error: Error) -> Self {
        Self::new(error.message, error.hint)
    }
}
