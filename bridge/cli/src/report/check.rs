//! One question of `qmpi doctor` with its answer.

use qmpi_launch::Warning;
use serde::Serialize;

use crate::Error;

/// How an answer is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    Ok,
    Warn,
    Fail,
}

#[derive(Debug, Serialize)]
pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) status: Status,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
}

impl Check {
    pub(crate) fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self { name, status: Status::Ok, message: message.into(), hint: None }
    }

    pub(crate) fn warn(name: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { name, status: Status::Warn, message: message.into(), hint: Some(hint.into()) }
    }

    pub(crate) fn of_warning(name: &'static str, warning: Warning) -> Self {
        Self::warn(name, warning.message, warning.hint.unwrap_or_default())
    }

    pub(crate) fn of_error(name: &'static str, error: impl Into<Error>) -> Self {
        let Error { message, hint, .. } = error.into();
        Self::fail(name, message, hint)
    }

    pub(crate) fn fail(name: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { name, status: Status::Fail, message: message.into(), hint: Some(hint.into()) }
    }

    /// The same answer with a hint at what can be done all the same.
    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}
