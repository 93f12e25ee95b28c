//! What is wrong with what a user asks for, and what to do about it.

use qmpi_elf::ElfError;

/// Why a stack cannot be put together, or a tool not be a layer: one line, and one on what the user can do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PlanError {
    message: String,
    hint: String,
}

impl PlanError {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }

    /// A variable that must be text is not UTF-8.
    pub fn not_unicode(variable: &str) -> Self {
        let hint = "paths that are not UTF-8 cannot be listed; use a symbolic link";
        Self::new(format!("{variable} is not valid UTF-8"), hint)
    }

    /// What the user can do about it, in one line.
    pub fn hint(&self) -> &str {
        &self.hint
    }
}

/// Not a sound shared object of this machine.
impl From<ElfError> for PlanError {
    fn from(error: ElfError) -> Self {
        Self::new(error.to_string(), error.hint().unwrap_or_else(|| "give the path of a shared object".into()))
    }
}
