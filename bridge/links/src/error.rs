//! Why a stub could not be made.

use qmpi_system::log;
use thiserror::Error;

/// The stubs that are in the library are used up, and no further ones could be mapped.
#[derive(Debug, Error)]
#[error("no memory for stubs between layers: {0}")]
pub struct StubError(#[source] pub std::io::Error);

impl StubError {
    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        "the limits of memory and of mappings must leave room (ulimit -v, vm.max_map_count), and libqmpi_core.so's \
         file system or memfd_create must allow executable mappings"
            .into()
    }
}

/// What was made. Without stubs there is no stack, so the process ends where one could not be made, with the reason.
pub fn require_stub<T>(made: Result<T, StubError>) -> T {
    made.unwrap_or_else(|error| log::fatal(&error.to_string(), Some(&error.hint())))
}
