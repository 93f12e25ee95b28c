//! The files of libraries that a tool is loaded together with: `with` of its section.
//!
//! A file is looked for as its author would name it: with a `/` in it, from the configuration file's directory on (`config.rs` has
//! joined them already); else beside the tool, and then as the dynamic linker finds a library of that name.

use std::path::{Path, PathBuf};

use crate::PlanError;
use crate::config::has_directory;
use crate::lookup::{Linker, absolute};
use crate::nearest::nearest;

/// The absolute paths of `files`, which the section `[tool.NAME]` gives for the tool at `tool`.
///
/// # Errors
/// [`PlanError::NoWith`] for the first that is not there.
pub(crate) fn find(name: &str, tool: &Path, files: &[PathBuf], linker: Linker<'_>) -> Result<Vec<PathBuf>, PlanError> {
    files.iter().map(|file| find_one(name, tool, file, linker)).collect()
}

fn find_one(name: &str, tool: &Path, file: &Path, linker: Linker<'_>) -> Result<PathBuf, PlanError> {
    if has_directory(file) {
        let path = absolute(file)?;
        return if is_there(&path) { Ok(path) } else { Err(missing(name, path, None)) };
    }
    let beside = absolute(tool)?.with_file_name(file);
    if is_there(&beside) {
        return Ok(beside);
    }
    match file.to_str().and_then(linker) {
        Some(path) => absolute(&path),
        None => Err(missing(name, beside, Some(file))),
    }
}

/// Devices and pipes are let through: the inspection names what they are.
fn is_there(path: &Path) -> bool {
    path.exists() && !path.is_dir()
}

fn missing(name: &str, path: PathBuf, file: Option<&Path>) -> PlanError {
    let directory = path.parent().map(Path::to_owned).unwrap_or_default();
    let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    let wanted = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let others = names.iter().map(String::as_str).filter(|name| *name != wanted);
    let nearest = nearest(&wanted, others).map(|file| directory.join(file)).filter(|near| !near.is_dir());
    PlanError::NoWith { name: name.to_owned(), file: file.map(Path::to_owned), path, nearest }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_LINKER: Linker<'static> = &|_| None;

    #[test]
    fn beside_the_tool_and_then_as_the_linker() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::write(at("libinit.so"), "").unwrap();
        let linker: Linker<'_> = &|name| Some(Path::new("/usr/lib").join(name));
        let found = find("x", &at("libtool.so"), &["libinit.so".into(), "libother.so".into()], linker).unwrap();
        assert_eq!(found, [at("libinit.so"), "/usr/lib/libother.so".into()]);
        let found = find("x", Path::new("/nowhere/libtool.so"), &[at("libinit.so")], NO_LINKER).unwrap();
        assert_eq!(found, [at("libinit.so")]);
    }

    #[test]
    fn what_is_not_there() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::write(at("libinit.so"), "").unwrap();
        let place = directory.path().display();
        for (file, message) in [
            (
                "libinti.so".into(),
                format!("tool `x`: `with` names libinti.so, which is neither in {place} nor in the linker's path"),
            ),
            (at("libinti.so"), format!("tool `x`: `with` names {place}/libinti.so, which does not exist")),
        ] {
            let error = find("x", &at("libtool.so"), &[file], NO_LINKER).unwrap_err();
            assert_eq!(error.to_string(), message);
            assert_eq!(error.hint().unwrap(), format!("did you mean {place}/libinit.so?"));
        }
        let error = find("x", &at("libtool.so"), &[directory.path().join(".")], NO_LINKER).unwrap_err();
        assert!(error.to_string().ends_with("which is a directory"), "{error}");
    }
}
