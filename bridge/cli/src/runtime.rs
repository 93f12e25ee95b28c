//! Where `libqmpi.so` is.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use qmpi_stack::preload::RUNTIME;

use crate::Error;

/// Names another `libqmpi.so` than the one that belongs to the command.
pub const VARIABLE: &str = "QMPI_RUNTIME";

/// The file name of the library that loads the tools, beside the runtime.
pub const CORE: &str = "libqmpi_core.so";

/// The runtime: QMPI_RUNTIME, or beside the command (`target/release/`), or in `../lib` and `../lib64` (installed).
///
/// # Errors
/// [`Error::NoRuntime`] with the places looked at.
pub fn find(get: &dyn Fn(&str) -> Option<OsString>) -> Result<PathBuf, Error> {
    if let Some(path) = get(VARIABLE).filter(|path| !path.is_empty()) {
        let path = qmpi_stack::lookup::absolute(Path::new(&path))?;
        return if path.is_file() { Ok(path) } else { Err(Error::NoRuntime { searched: vec![path], given: true }) };
    }
    // The link's target, not the link: `~/bin/qmpi` may point into an installation.
    let command = std::env::current_exe().and_then(|path| path.canonicalize()).unwrap_or_default();
    let searched = candidates(&command);
    match searched.iter().find(|path| path.is_file()) {
        Some(path) => Ok(path.clone()),
        None => Err(Error::NoRuntime { searched, given: false }),
    }
}

fn candidates(command: &Path) -> Vec<PathBuf> {
    let Some(directory) = command.parent() else {
        return Vec::new();
    };
    let mut paths = vec![directory.join(RUNTIME)];
    if let Some(prefix) = directory.parent() {
        paths.extend(["lib", "lib64"].map(|library| prefix.join(library).join(RUNTIME)));
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beside_and_installed() {
        let paths = candidates(Path::new("/usr/local/bin/qmpi"));
        let expected = ["/usr/local/bin/libqmpi.so", "/usr/local/lib/libqmpi.so", "/usr/local/lib64/libqmpi.so"];
        assert_eq!(paths, expected.map(PathBuf::from));
    }

    #[test]
    fn the_variable_must_lead_to_a_file() {
        let error = find(&|_| Some("/nonexistent/libqmpi.so".into())).unwrap_err();
        assert_eq!(error.to_string(), "QMPI_RUNTIME: /nonexistent/libqmpi.so is no file");
    }
}
