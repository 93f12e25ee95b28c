//! Settings that are one word out of a few, of a variable or of the configuration file; and whether a layer is switched.

use crate::PlanError;
use crate::filter::Filter;

/// A setting that is one word out of a few.
pub trait SettingWord: Copy + Default + PartialEq + 'static {
    /// The words, and what they stand for.
    const WORDS: &'static [(&'static str, Self)];

    /// The word that stands for it.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| word)
    }

    /// What a word stands for.
    fn of_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, value)| *value)
    }

    /// Reads the value of a variable; nothing or blanks mean the default.
    ///
    /// # Errors
    /// Any other word.
    fn of_variable(variable: &'static str, value: Option<&str>) -> Result<Self, PlanError> {
        let value = value.unwrap_or_default().trim();
        if value.is_empty() {
            return Ok(Self::default());
        }
        Self::of_word(value).ok_or_else(|| {
            let expected: Vec<&str> = Self::WORDS.iter().map(|(word, _)| *word).collect();
            let message = format!("{variable}={value} is none of {}", expected.join(", "));
            PlanError::new(message, format!("unset {variable} for the default"))
        })
    }
}

/// What happens when a layer cannot be set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// The job ends: a measurement with a tool missing is not the one that was asked for.
    #[default]
    Abort,
    /// The job runs without that layer.
    Skip,
}

impl SettingWord for OnError {
    const WORDS: &'static [(&'static str, Self)] = &[("abort", Self::Abort), ("skip", Self::Skip)];
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

impl SettingWord for LogLevel {
    const WORDS: &'static [(&'static str, Self)] =
        &[("error", Self::Error), ("warn", Self::Warn), ("info", Self::Info), ("debug", Self::Debug)];
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

impl SettingWord for Processes {
    const WORDS: &'static [(&'static str, Self)] = &[("mpi", Self::Mpi), ("all", Self::All)];
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

impl SettingWord for OwnCalls {
    const WORDS: &'static [(&'static str, Self)] = &[("visible", Self::Visible), ("hidden", Self::Hidden)];
}

/// What a layer sees of calls of functions with large counts (`MPI_Send_c`) that it has with `int` counts alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LargeCountCalls {
    /// Those whose counts fit into an `int`.
    #[default]
    Seen,
    /// None.
    Past,
}

impl SettingWord for LargeCountCalls {
    const WORDS: &'static [(&'static str, Self)] = &[("seen", Self::Seen), ("past", Self::Past)];
}

/// What a layer sees of programs that use sessions (MPI 4.0, 11.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SessionCalls {
    /// The program's calls alone.
    #[default]
    Alone,
    /// A call of MPI_Init for the first session, and one of MPI_Finalize at the end.
    World,
}

impl SettingWord for SessionCalls {
    const WORDS: &'static [(&'static str, Self)] = &[("alone", Self::Alone), ("world", Self::World)];
}

/// What a layer's C functions see of Fortran calls. Its Fortran functions see theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FortranCalls {
    /// Those that it has no Fortran function of.
    #[default]
    Seen,
    /// None.
    Past,
}

impl SettingWord for FortranCalls {
    const WORDS: &'static [(&'static str, Self)] = &[("seen", Self::Seen), ("past", Self::Past)];
}

/// Where the program's own calls of `PMPI_f` go.
///
/// The documents of QMPI and `LD_PRELOAD` say different things, each for tools of its kind: docs/maintainers/decisions/pmpi-of-the-program.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProgramPmpi {
    /// Into the stack if all its layers are QMPI tools, else past it.
    #[default]
    Auto,
    /// Into the stack, as its calls of `MPI_f`.
    Chain,
    /// To the MPI library, past all layers.
    Past,
}

impl SettingWord for ProgramPmpi {
    const WORDS: &'static [(&'static str, Self)] =
        &[("auto", Self::Auto), ("chain", Self::Chain), ("past", Self::Past)];
}

impl ProgramPmpi {
    /// Do the calls enter a stack whose layers are all QMPI tools, or are not?
    pub fn enters(self, are_all_qmpi_tools: bool) -> bool {
        self == Self::Chain || self == Self::Auto && are_all_qmpi_tools
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
        assert_eq!(OnError::of_variable("QMPI_ON_ERROR", Some(" skip ")).unwrap(), OnError::Skip);
        assert_eq!(OnError::of_variable("QMPI_ON_ERROR", None).unwrap(), OnError::Abort);
        assert_eq!(LogLevel::of_variable("QMPI_LOG", Some("debug")).unwrap(), LogLevel::Debug);
        assert_eq!(LogLevel::of_variable("QMPI_LOG", Some(" ")).unwrap(), LogLevel::Warn);
        assert_eq!(LogLevel::Info.word(), "info");
        assert!(LogLevel::Error < LogLevel::Debug);
    }

    #[test]
    fn another_word_names_the_choices() {
        let error = LogLevel::of_variable("QMPI_LOG", Some("loud")).unwrap_err();
        assert_eq!(error.to_string(), "QMPI_LOG=loud is none of error, warn, info, debug");
    }
}
