//! What is wrong with one element of a tool list, or one value of the configuration file.

use thiserror::Error;

use crate::job::ranks::RanksError;

/// What is wrong with an element of a tool list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ListFault {
    /// Nothing between two separators, or after the last one.
    #[error("is empty")]
    Empty,
    /// `=path`
    #[error("has no name before the `=`")]
    NoName,
    /// `name=`
    #[error("has no path after the `=`")]
    NoPath,
    /// A NUL byte, which no path and no environment variable can carry.
    #[error("contains a NUL byte")]
    Nul,
}

/// What is wrong in a line of the configuration file. A key has its section: `tool.outer.path`.
#[derive(Debug, Error)]
pub enum ConfigFault {
    /// It is not TOML, as the parser says.
    #[error("{0}")]
    Syntax(String),
    /// A key that means nothing.
    #[error("unknown key `{key}`")]
    Key {
        /// The key.
        key: String,
        /// The nearest key that there is.
        nearest: Option<&'static str>,
        /// All keys that may stand there.
        known: &'static [&'static str],
    },
    /// A value of another type.
    #[error("`{key}` must be {expected}, not {found}")]
    Type {
        /// The key.
        key: String,
        /// What it must be.
        expected: String,
        /// What it is.
        found: &'static str,
    },
    /// A value of the right type that makes no sense.
    #[error("`{0}`: {1}")]
    Value(String, ValueFault),
}

/// What is wrong with a value in the configuration file.
#[derive(Debug, Error)]
pub enum ValueFault {
    /// An empty string where something is needed.
    #[error("must not be empty")]
    Empty,
    /// A character that the environment or a file name cannot carry there.
    #[error("`{0}` must not contain {1}")]
    Character(String, &'static str),
    /// A name that is no function of MPI, and the function that resembles it most.
    #[error("`{0}` is no MPI function")]
    Function(String, Option<&'static str>),
    /// A name that the program registers has no file.
    #[error("a tool that the program registers has no `path`")]
    WithPath,
    /// A layer that is off for ever.
    #[error("a layer that cannot be switched on would never be used")]
    WithoutSwitch,
    /// A layer with a filter is switched call by call.
    #[error("a layer that cannot be switched off cannot have a filter")]
    FilterWithoutSwitch,
    /// A filter that lets all calls through; the conditions that there are.
    #[error("a filter needs a condition")]
    NoCondition(&'static [&'static str]),
    /// A number that is out of range.
    #[error("it must be {0}")]
    Number(&'static str),
    /// A word that says nothing about functions.
    #[error("`{0}` is neither \"all\" nor \"none\"")]
    Wraps(String),
    /// A word that is none of those that mean something.
    #[error("`{0}` is not {1}")]
    Word(String, String),
    /// Not a set of ranks.
    #[error(transparent)]
    Ranks(#[from] RanksError),
}

impl ConfigFault {
    /// What the user can do about it, in one line.
    pub(crate) fn hint(&self) -> String {
        match self {
            Self::Syntax(_) => "the file is TOML: `stack = [\"a\", \"b\"]`, `[tool.a]`, `path = \"...\"`".into(),
            Self::Key { nearest: Some(nearest), .. } => format!("did you mean `{nearest}`?"),
            Self::Key { known, .. } => format!("valid here: {}", known.join(", ")),
            Self::Type { expected, .. } => format!("write {expected}"),
            Self::Value(_, fault) => match fault {
                ValueFault::Ranks(_) => "write for example \"0-3,8\"".into(),
                ValueFault::Function(_, Some(nearest)) => format!("did you mean `{nearest}`?"),
                ValueFault::Function(..) => "write C names, such as MPI_Send".into(),
                ValueFault::Word(_, expected) => format!("write {expected}"),
                ValueFault::WithoutSwitch => "write switch = true, or leave the tool out of the stack".into(),
                ValueFault::FilterWithoutSwitch => "leave out switch = false".into(),
                ValueFault::NoCondition(known) => format!("write one of {}", known.join(", ")),
                ValueFault::Wraps(_) => "list functions: [\"open\", \"close\"]".into(),
                ValueFault::Empty | ValueFault::Character(..) | ValueFault::WithPath | ValueFault::Number(_) => {
                    "correct the value or leave the key out".into()
                }
            },
        }
    }
}
