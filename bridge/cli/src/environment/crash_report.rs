//! What `--crash-report` puts into the environment: a library to preload, and the command that it starts.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use qmpi_plan::variable;

use crate::Error;

/// The file name of the library, beside the runtime.
pub const LIBRARY: &str = "libqmpi_crash.so";

/// What it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrashReport {
    /// This command, whichever way it was called.
    pub command: PathBuf,
    /// The library.
    pub library: PathBuf,
}

/// Does the environment ask for it? The value is `1`, or what an outer `qmpi run` has put there.
#[must_use]
pub fn is_asked_for(get: &dyn Fn(&str) -> Option<OsString>) -> bool {
    get(variable::CRASH_REPORT).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Finds both.
///
/// # Errors
/// [`Error::NoRuntime`] where there is no such library.
pub fn find(runtime: &Path) -> Result<CrashReport, Error> {
    let library = runtime.with_file_name(LIBRARY);
    let library = if library.is_file() {
        library
    } else {
        // The runtime may be a link into an installation.
        let real = runtime.canonicalize().map(|real| real.with_file_name(LIBRARY));
        real.ok().filter(|real| real.is_file()).ok_or(Error::NoRuntime { searched: vec![library], given: false })?
    };
    let command = std::env::current_exe().map_err(|_| Error::NoRuntime { searched: Vec::new(), given: false })?;
    Ok(CrashReport { command, library })
}
