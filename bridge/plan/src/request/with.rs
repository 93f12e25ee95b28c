//! The files of libraries that a tool is loaded together with: `with` of its section.
//!
//! A file is looked for as its author would name it: with a `/` in it, from the configuration file's directory on (`config.rs` has
//! joined them already); else beside the tool, and then as the dynamic linker finds a library of that name.

use std::path::{Path, PathBuf};

use crate::PlanError;
use crate::config::has_directory;
use crate::lookup::{Linker, absence, absolute, file_of_similar_name};

/// The absolute paths of `files`, which the section `[tool.NAME]` gives for the tool at `tool`.
///
/// # Errors
/// For the first that is not there.
pub(crate) fn find(name: &str, tool: &Path, files: &[PathBuf], linker: Linker<'_>) -> Result<Vec<PathBuf>, PlanError> {
    files.iter().map(|file| find_one(name, tool, file, linker)).collect()
}

fn find_one(name: &str, tool: &Path, file: &Path, linker: Linker<'_>) -> Result<PathBuf, PlanError> {
    let path = if has_directory(file) { absolute(file)? } else { absolute(tool)?.with_file_name(file) };
    let Some(absence) = absence(&path) else { return Ok(path) };
    let fault = if has_directory(file) {
        format!("{}, which {absence}", path.display())
    } else if let Some(path) = file.to_str().and_then(linker) {
        return absolute(&path);
    } else {
        let beside = path.parent().unwrap_or(Path::new("/"));
        format!("{}, which is neither in {} nor in the linker's path", file.display(), beside.display())
    };
    let hint = file_of_similar_name(&path).unwrap_or_else(|| {
        "give the file's path: one with a `/` is relative to the configuration file's directory".into()
    });
    Err(PlanError::new(format!("tool `{name}`: `with` names {fault}"), hint))
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
            assert_eq!(error.hint(), format!("did you mean {place}/libinit.so?"));
        }
        let error = find("x", &at("libtool.so"), &[directory.path().join(".")], NO_LINKER).unwrap_err();
        assert!(error.to_string().ends_with("which is a directory"), "{error}");
    }
}
