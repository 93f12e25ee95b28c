//! Everything that stops a command: one line, one hint, one exit status. What only one command says is worded there.

use std::ffi::OsStr;
use std::io;

use qmpi_launch::LaunchError;
use qmpi_measured::MeasuredError;
use qmpi_plan::PlanError;
use serde::Serialize;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The command line makes no sense: what is wrong, and what would be right.
    #[error("{message}")]
    Usage { message: String, hint: String },

    /// Something is not as it has to be: what, and what to do about it.
    #[error("{message}")]
    Failed { message: String, hint: String },

    /// A tool that cannot be a layer.
    #[error("tool `{layer}`: {refusal}")]
    Refused { layer: String, refusal: PlanError },

    /// A stack of `[stacks]` that cannot be opened.
    #[error("[stacks] {stack}: {error}")]
    InNamedStack { stack: String, error: Box<Error> },

    /// What stands between the command line and the ranks.
    #[error(transparent)]
    Launch(#[from] LaunchError),

    /// What a job recorded.
    #[error(transparent)]
    Measured(#[from] MeasuredError),

    /// Stdout cannot be written.
    #[error("cannot write the answer: {0}")]
    Output(io::Error),
}

impl Error {
    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), hint: hint.into() }
    }

    pub(crate) fn failed(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Failed { message: message.into(), hint: hint.into() }
    }

    /// A command that does not start, whatever the system says of it.
    pub(crate) fn not_executable(command: &OsStr, source: io::Error) -> Self {
        let command = command.to_string_lossy().into_owned();
        Self::Launch(LaunchError::CommandNotExecutable(command, source))
    }

    pub(crate) fn status(&self) -> u8 {
        match self {
            Self::Usage { .. } => 2,
            Self::Launch(error) => error.status(),
            _ => 3,
        }
    }

    /// What the user can do about it, in one line.
    pub(crate) fn hint(&self) -> String {
        match self {
            Self::Usage { hint, .. } | Self::Failed { hint, .. } => hint.clone(),
            Self::Refused { refusal, .. } => refusal.hint().to_owned(),
            Self::InNamedStack { error, .. } => error.hint(),
            Self::Launch(error) => error.hint(),
            Self::Measured(error) => error.hint().to_owned(),
            Self::Output(_) => "is the disk full?".to_owned(),
        }
    }
}

/// An error in JSON: the same that is printed on stderr.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorReport {
    message: String,
    hint: String,
    /// The exit status that goes with it.
    status: u8,
}

impl ErrorReport {
    pub(crate) fn new(error: &Error) -> Self {
        Self { message: error.to_string(), hint: error.hint(), status: error.status() }
    }
}

/// The tool list, the configuration file or the search for a tool.
impl From<PlanError> for Error {
    fn from(error: PlanError) -> Self {
        Self::Launch(error.into())
    }
}

/// A file that is not what it should be.
impl From<qmpi_elf::ElfError> for Error {
    fn from(error: qmpi_elf::ElfError) -> Self {
        Self::Launch(error.into())
    }
}
