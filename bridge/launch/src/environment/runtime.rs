//! Where `libqmpi.so` is.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use qmpi_elf::ElfFile;
use qmpi_plan::preload::RUNTIME;

use crate::LaunchError;
use crate::executable;

/// Names another `libqmpi.so` than the one that belongs to the command.
pub const VARIABLE: &str = "QMPI_RUNTIME";

/// The file name of the library that loads the tools, beside the runtime.
pub const CORE: &str = "libqmpi_core.so";

/// The file name of the tool that records calls, beside the runtime as well.
pub const RECORDER: &str = "libqmpi_recorder.so";

/// The runtime: QMPI_RUNTIME, or beside the command (`target/release/`), or in `../lib/qmpi`, `../lib` and `../lib64` (installed).
///
/// # Errors
/// [`LaunchError::NoRuntime`] with the places looked at.
pub fn find(get: &dyn Fn(&str) -> Option<OsString>) -> Result<PathBuf, LaunchError> {
    if let Some(path) = get(VARIABLE).filter(|path| !path.is_empty()) {
        let path = qmpi_plan::lookup::absolute(Path::new(&path))?;
        return is_runtime(&path).map(|()| path);
    }
    // The link's target, not the link: `~/bin/qmpi` may point into an installation.
    let command = this_command(get).and_then(|path| path.canonicalize().ok()).unwrap_or_default();
    let searched = candidates(&command);
    match searched.iter().find(|path| path.is_file()) {
        Some(path) => Ok(path.clone()),
        None => Err(LaunchError::NoRuntime(searched)),
    }
}

/// The file of this command; where there is no `/proc`, the one that its name leads to.
fn this_command(get: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let by_name = || executable::find(&std::env::args_os().next()?, get("PATH").as_deref());
    std::env::current_exe().ok().or_else(by_name)
}

/// Is it a `libqmpi.so`? Without it the dynamic linker would print a line in each process, and the stack would be lost.
fn is_runtime(path: &Path) -> Result<(), LaunchError> {
    let fail = |what: String| LaunchError::NotRuntime(path.to_owned(), what);
    if !path.is_file() {
        return Err(fail("file".to_owned()));
    }
    let library = ElfFile::open(path).map_err(|error| fail(format!("libqmpi.so: {error}")))?;
    let is_it = library.is_shared_object() && library.exports().any(|symbol| symbol.name == "QMPIX_Stack_open");
    let other = || fail("libqmpi.so: it does not have the functions of the QMPI interface".to_owned());
    is_it.then_some(()).ok_or_else(other)
}

fn candidates(command: &Path) -> Vec<PathBuf> {
    let Some(directory) = command.parent() else {
        return Vec::new();
    };
    let mut paths = vec![directory.join(RUNTIME)];
    if let Some(prefix) = directory.parent() {
        paths.extend(["lib/qmpi", "lib", "lib64"].map(|library| prefix.join(library).join(RUNTIME)));
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beside_and_installed() {
        let paths = candidates(Path::new("/usr/local/bin/qmpi"));
        let expected = ["bin", "lib/qmpi", "lib", "lib64"].map(|place| format!("/usr/local/{place}/libqmpi.so"));
        assert_eq!(paths, expected.map(PathBuf::from));
    }

    #[test]
    fn the_variable_must_lead_to_a_file() {
        let error = find(&|_| Some("/nonexistent/libqmpi.so".into())).unwrap_err();
        assert_eq!(error.to_string(), "QMPI_RUNTIME: /nonexistent/libqmpi.so is no file");
    }
}
