//! A warning: what the user should know about a stack before it runs, and what to do about it.

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
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: Some(hint.into()) }
    }
}
