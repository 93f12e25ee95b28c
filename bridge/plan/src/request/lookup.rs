//! From an element of the stack to the file of the tool.
//!
//! A path is taken as it is, made absolute. A NAME is looked up in this order:
//!
//! 1. `path` of the section `[tool.NAME]` of the configuration file;
//! 2. each directory of `QMPI_TOOL_PATH`, then of `search` of the configuration file: `NAME`, `NAME.so`, `libNAME.so`, and then the highest version of `libNAME.so.*`;
//! 3. the dynamic linker's own path: `NAME` if it contains `.so`, `NAME.so`, `libNAME.so`. Versions are not tried there, as the
//!    linker's cache can be asked for whole names only.
//!
//! How the linker searches is not known here: a function does it.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::nearest::{did_you_mean, nearest};
use crate::{Config, Element, PlanError};

/// Finds a library by its file name in the dynamic linker's way (`LD_LIBRARY_PATH`, the cache, default directories).
pub type Linker<'a> = &'a dyn Fn(&str) -> Option<PathBuf>;

/// Where names are looked up.
pub struct Lookup<'a> {
    config: &'a Config,
    directories: Vec<PathBuf>,
    linker: Linker<'a>,
}

impl<'a> Lookup<'a> {
    /// `tool_path` is the value of `QMPI_TOOL_PATH`. Empty elements in it are ignored: unlike the linker's variables, they do
    /// not mean the current directory, where a tool of the same name would be found by accident.
    ///
    /// # Errors
    /// A directory is relative, and there is no current directory.
    pub fn new(config: &'a Config, tool_path: &str, linker: Linker<'a>) -> Result<Self, PlanError> {
        let named = tool_path.split(':').map(str::trim).filter(|directory| !directory.is_empty()).map(Path::new);
        let directories =
            named.chain(config.search.iter().map(PathBuf::as_path)).map(absolute).collect::<Result<_, _>>()?;
        Ok(Self { config, directories, linker })
    }

    /// The absolute path of the tool that `element` means; `None` for a name that leads nowhere.
    ///
    /// # Errors
    /// A path that leads nowhere.
    pub fn file(&self, element: &Element) -> Result<Option<PathBuf>, PlanError> {
        let name = element.name();
        match element {
            Element::Path(path) | Element::Named(_, path) => given(&name, path).map(Some),
            Element::Name(_) => {
                if let Some(path) = self.config.tools.get(&name).and_then(|tool| tool.path.as_ref()) {
                    return given(&name, path).map(Some);
                }
                self.directories
                    .iter()
                    .find_map(|directory| in_directory(directory, &name))
                    .or_else(|| linker_names(&name).find_map(|file| (self.linker)(&file).filter(|path| !is_text(path))))
                    .map(|path| absolute(&path))
                    .transpose()
            }
        }
    }

    /// The names that lead into the directories of names, and where they lead, in the order of the directories.
    pub fn in_directories(&self) -> Vec<(String, PathBuf)> {
        let names = self.directories.iter().flat_map(|directory| file_names(directory));
        let mut names: Vec<String> = names.filter_map(|file| tool_name(&file).map(str::to_owned)).collect();
        names.sort();
        names.dedup();
        let find = |name: &str| self.directories.iter().find_map(|directory| in_directory(directory, name));
        names.into_iter().filter_map(|name| find(&name).map(|path| (name, path))).collect()
    }

    /// No file belongs to the name of a tool. The name may still be one that a QMPI tool registers when it is loaded.
    pub(crate) fn unresolved(&self, name: &str) -> PlanError {
        let directories = self.directories.iter().map(|path| path.display().to_string());
        let searched: Vec<String> = directories.chain(["the linker's path".to_owned()]).collect();
        let files: Vec<String> = self.directories.iter().flat_map(|directory| file_names(directory)).collect();
        let names = self.config.tools.keys().map(String::as_str).chain(files.iter().filter_map(|file| tool_name(file)));
        let here = file_beginnings(name).into_iter().find(|file| !file.contains('/') && is_elf(Path::new(file)));
        let hint = if let Some(file) = here {
            format!("it is here: write ./{file}")
        } else if let Some(hint) = did_you_mean(name, names.filter(|candidate| *candidate != name)) {
            // A section without a path has the name itself.
            hint
        } else if !self.config.tools.is_empty() && !self.config.tools.contains_key(name) {
            format!(
                "the configuration file has no [tool.{name}]: add one with `path`, or with `registered = true` if the program \
                 registers it"
            )
        } else {
            format!(
                "give a path, ./{name} or {name}=PATH, or set QMPI_TOOL_PATH; if the program registers it: \
                 `registered = true` in [tool.{name}]"
            )
        };
        PlanError::new(format!("no tool `{name}` found in {}", searched.join(", ")), hint)
    }
}

/// `path` made absolute without touching the file system: symbolic links stay, since a tool may look at its own name.
///
/// # Errors
/// It is empty, or relative where there is no current directory.
pub fn absolute(path: &Path) -> Result<PathBuf, PlanError> {
    let error =
        |source| PlanError::new(format!("cannot make {} absolute: {source}", path.display()), "give an absolute path");
    std::path::absolute(path).map_err(error)
}

fn given(name: &str, path: &Path) -> Result<PathBuf, PlanError> {
    let path = absolute(path)?;
    let Some(absence) = absence(&path) else { return Ok(path) };
    let hint = file_of_similar_name(&path).unwrap_or_else(|| "give the path of the tool's shared object".into());
    Err(PlanError::new(format!("tool `{name}`: {} {absence}", path.display()), hint))
}

/// Why no library can be loaded from there, if it is that. Devices and pipes are let through: the inspection names what they are.
pub(crate) fn absence(path: &Path) -> Option<&'static str> {
    if path.is_dir() { Some("is a directory") } else { (!path.exists()).then_some("does not exist") }
}

/// A hint at the file in the same directory whose name resembles that of an absent one most.
pub(crate) fn file_of_similar_name(path: &Path) -> Option<String> {
    let (directory, wanted) = (path.parent()?, path.file_name()?.to_string_lossy());
    let names = file_names(directory);
    let nearest = nearest(&wanted, names.iter().map(String::as_str).filter(|name| *name != wanted))?;
    let nearest = directory.join(nearest);
    (!nearest.is_dir()).then(|| format!("did you mean {}?", nearest.display()))
}

fn in_directory(directory: &Path, name: &str) -> Option<PathBuf> {
    file_beginnings(name).iter().map(|file| directory.join(file)).find(|path| path.is_file()).or_else(|| {
        let prefix = format!("lib{name}.so.");
        let versions = file_names(directory).into_iter().filter(|file| {
            file.strip_prefix(&prefix).is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
        });
        let highest = versions.max_by_key(|file| version(&file[prefix.len()..]))?;
        Some(directory.join(highest)).filter(|path| path.is_file())
    })
}

/// The files that a name may stand for, but for versions.
fn file_beginnings(name: &str) -> [String; 3] {
    [name.to_owned(), format!("{name}.so"), format!("lib{name}.so")]
}

/// Only regular files are opened: a pipe would block.
pub(crate) fn is_elf(path: &Path) -> bool {
    path.is_file() && beginning(path).is_some_and(|bytes| bytes == *b"\x7fELF")
}

/// Is it a script for ld, as `libm.so` and `libc.so` are where there are compilers? No user means these.
fn is_text(path: &Path) -> bool {
    beginning(path).is_some_and(|bytes| bytes == *b"/* G")
}

fn beginning(path: &Path) -> Option<[u8; 4]> {
    let mut bytes = [0; 4];
    std::fs::File::open(path).ok()?.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

/// `1.10` → `[1, 10]`, so that it is higher than `1.9`.
fn version(text: &str) -> Vec<u64> {
    text.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

/// The files that the dynamic linker is asked for.
fn linker_names(name: &str) -> impl Iterator<Item = String> {
    file_beginnings(name).into_iter().skip(usize::from(!name.contains(".so")))
}

/// `libmpiP.so.3` → `mpiP`; `None` for what is not a shared object.
fn tool_name(file: &str) -> Option<&str> {
    let (stem, _) = file.split_once(".so")?;
    Some(stem.strip_prefix("lib").unwrap_or(stem))
}

/// Sorted, so that the same directory gives the same answer everywhere; empty where it cannot be read.
fn file_names(directory: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory with empty files, removed at the end.
    struct Directory(PathBuf);

    impl Directory {
        fn new(test: &str, files: &[&str]) -> Self {
            let path = std::env::temp_dir().join(format!("qmpi-lookup-{test}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            for file in files {
                std::fs::write(path.join(file), "").unwrap();
            }
            Self(path)
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn find(config: &Config, tool_path: &Path, name: &str) -> Result<PathBuf, PlanError> {
        let linker = |file: &str| (file == "libsystem.so").then(|| PathBuf::from("/usr/lib/libsystem.so"));
        let lookup = Lookup::new(config, tool_path.to_str().unwrap(), &linker)?;
        lookup.file(&Element::parse(name).unwrap())?.ok_or_else(|| lookup.unresolved(name))
    }

    #[test]
    fn order_within_a_directory() {
        let files = ["a", "a.so", "liba.so", "b.so", "libb.so", "libc.so.1.9", "libc.so.1.10", "libc.so.debug"];
        let directory = Directory::new("order", &files);
        for (name, file) in [("a", "a"), ("b", "b.so"), ("c", "libc.so.1.10"), ("libb.so", "libb.so")] {
            assert_eq!(find(&Config::default(), &directory.0, name).unwrap(), directory.0.join(file));
        }
    }

    #[test]
    fn config_before_directories_before_linker() {
        let directory = Directory::new("sources", &["libx.so", "other.so"]);
        let toml = "[tool.x]\npath = \"other.so\"\n[tool.system]\nranks = \"0\"";
        let config = Config::parse(&directory.0.join("qmpi.toml"), toml).unwrap();
        assert_eq!(find(&config, &directory.0, "x").unwrap(), directory.0.join("other.so"));
        assert_eq!(find(&Config::default(), &directory.0, "x").unwrap(), directory.0.join("libx.so"));
        assert_eq!(find(&config, &directory.0, "system").unwrap(), Path::new("/usr/lib/libsystem.so"));
    }

    #[test]
    fn unresolved_lists_the_places_and_suggests() {
        let directory = Directory::new("unresolved", &["libmpiP.so.3"]);
        let error = find(&Config::default(), &directory.0, "mpip2").unwrap_err();
        assert_eq!(error.to_string(), format!("no tool `mpip2` found in {}, the linker's path", directory.0.display()));
        assert_eq!(error.hint(), "did you mean `mpiP`?");
    }

    #[test]
    fn a_path_that_leads_nowhere() {
        let directory = Directory::new("nowhere", &["libmpiP.so"]);
        let path = directory.0.join("libmpip.so");
        let error = find(&Config::default(), Path::new(""), path.to_str().unwrap()).unwrap_err();
        assert_eq!(error.to_string(), format!("tool `libmpip.so`: {} does not exist", path.display()));
        assert_eq!(error.hint(), format!("did you mean {}?", directory.0.join("libmpiP.so").display()));
        let error = find(&Config::default(), Path::new(""), directory.0.to_str().unwrap()).unwrap_err();
        assert!(error.to_string().ends_with(" is a directory"), "{error}");
    }

    #[test]
    fn paths_become_absolute() {
        let cwd = std::env::current_dir().unwrap();
        assert_eq!(find(&Config::default(), Path::new(""), "./Cargo.toml").unwrap(), cwd.join("Cargo.toml"));
        assert_eq!(find(&Config::default(), Path::new(""), "x=Cargo.toml").unwrap(), cwd.join("Cargo.toml"));
    }
}
