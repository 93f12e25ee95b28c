//! An error as it goes into JSON.

use serde::Serialize;

use crate::Error;

/// The same that is printed on stderr.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorReport {
    message: String,
    hint: String,
    /// The exit status that goes with it.
    status: u8,
}

impl ErrorReport {
    /// From the error.
    #[must_use]
    pub(crate) fn new(error: &Error) -> Self {
        Self { message: error.to_string(), hint: error.hint(), status: error.status() }
    }
}
