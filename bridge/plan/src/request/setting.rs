//! Settings that are one word out of a few: `QMPI_ON_ERROR`, `QMPI_LOG` and `QMPI_PROCESSES`.

use std::fmt;

use crate::PlanError;
use crate::request::filter::Filter;
use crate::request::variable;

/// What happens when a layer cannot be set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// The job ends: a measurement with a tool missing is not the one that was asked for.
    #[default]
    Abort,
    /// The job runs without that layer.
    Skip,
}

/// How much is said on stderr. Ordered: `Error < Warn < Info < Debug`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum LogLevel {
    /// Only what ends the job.
    Error,
    /// Also what probably is not meant.
    #[default]
    Warn,
    /// Also what was set up.
    Info,
    /// Also every decision.
    Debug,
}

/// In which processes the stack is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Processes {
    /// In those that have an MPI, when they have it.
    #[default]
    Mpi,
    /// In all, when they start, as `LD_PRELOAD` does.
    All,
}

impl Processes {
    const EVERY: [Self; 2] = [Self::Mpi, Self::All];
    /// The words, for messages.
    pub(crate) const EXPECTED: &str = "\"mpi\" or \"all\"";

    /// The word that stands for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mpi => "mpi",
            Self::All => "all",
        }
    }

    /// Reads the value of `QMPI_PROCESSES`; nothing or blanks mean the default.
    ///
    /// # Errors
    /// [`PlanError::Setting`] for any other word.
    pub fn parse(value: &str) -> Result<Self, PlanError> {
        word(variable::PROCESSES, value, &Self::EVERY, Self::as_str)
    }

    /// Reads the word of the configuration file.
    pub(crate) fn of_file(word: &str) -> Option<Self> {
        Self::EVERY.into_iter().find(|processes| processes.as_str() == word)
    }
}

impl OnError {
    const ALL: [Self; 2] = [Self::Abort, Self::Skip];

    /// The word that stands for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Abort => "abort",
            Self::Skip => "skip",
        }
    }

    /// Reads the value of `QMPI_ON_ERROR`; nothing or blanks mean the default.
    ///
    /// # Errors
    /// [`PlanError::Setting`] for any other word.
    pub fn parse(value: &str) -> Result<Self, PlanError> {
        word(variable::ON_ERROR, value, &Self::ALL, Self::as_str)
    }
}

impl LogLevel {
    const ALL: [Self; 4] = [Self::Error, Self::Warn, Self::Info, Self::Debug];

    /// The word that stands for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }

    /// Reads the value of `QMPI_LOG`; nothing or blanks mean the default.
    ///
    /// # Errors
    /// [`PlanError::Setting`] for any other word.
    pub fn parse(value: &str) -> Result<Self, PlanError> {
        word(variable::LOG, value, &Self::ALL, Self::as_str)
    }
}

impl fmt::Display for OnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn word<T: Copy + Default>(
    variable: &'static str,
    value: &str,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<T, PlanError> {
    let value = value.trim();
    if value.is_empty() {
        return Ok(T::default());
    }
    all.iter().copied().find(|&word| name(word) == value).ok_or_else(|| PlanError::Setting {
        variable,
        value: value.to_owned(),
        expected: all.iter().map(|&word| name(word)).collect::<Vec<_>>().join(", "),
    })
}

/// Which layers see what a tool asks MPI for itself, as opposed to what it passes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OwnCalls {
    /// The layers below it.
    #[default]
    Visible,
    /// None: it goes to the MPI library.
    Hidden,
}

impl OwnCalls {
    /// The words, for messages.
    pub(crate) const EXPECTED: &str = "\"visible\" or \"hidden\"";

    pub(crate) fn parse(word: &str) -> Option<Self> {
        match word {
            "visible" => Some(Self::Visible),
            "hidden" => Some(Self::Hidden),
            _ => None,
        }
    }

    /// The word of the configuration file.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Visible => "visible",
            Self::Hidden => "hidden",
        }
    }
}

/// That a layer can be switched off and on while the program runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switching {
    /// Is it on when the program starts?
    pub enabled: bool,
    /// Which calls it sees while it is on; `None`: all.
    pub filter: Option<Box<Filter>>,
}

impl Switching {
    /// `switch = true` alone.
    pub const ON: Switching = Switching { enabled: true, filter: None };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_defaults() {
        assert_eq!(OnError::parse(" skip ").unwrap(), OnError::Skip);
        assert_eq!(OnError::parse("").unwrap(), OnError::Abort);
        assert_eq!(LogLevel::parse("debug").unwrap(), LogLevel::Debug);
        assert_eq!(LogLevel::parse(" ").unwrap(), LogLevel::Warn);
        assert!(LogLevel::Error < LogLevel::Debug);
    }

    #[test]
    fn another_word_names_the_choices() {
        let error = LogLevel::parse("loud").unwrap_err();
        assert_eq!(error.to_string(), "QMPI_LOG=loud is none of error, warn, info, debug");
    }
}
