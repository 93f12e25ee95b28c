//! A warning: what the user should know about a stack before it runs, and what to do about it.

use std::ffi::OsString;

use crate::report::terminal;

/// What is probably not meant, or will not work in full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// One line.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Warning {
    /// With a hint.
    #[must_use]
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: Some(hint.into()) }
    }

    /// All of them, once a job: where a launcher started this command on every rank, rank 0 speaks for all.
    pub fn print_all<'a>(warnings: impl IntoIterator<Item = &'a Self>, get: &dyn Fn(&str) -> Option<OsString>) {
        if qmpi_plan::rank_from_env(get).is_none_or(|rank| rank == 0) {
            warnings.into_iter().for_each(Self::print);
        }
    }

    /// On this process's stderr, whatever its rank.
    pub fn print(&self) {
        terminal::warn(&self.message, self.hint.as_deref());
    }
}
