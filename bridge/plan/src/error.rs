//! Everything that can be wrong with what a user asks for. One line each; what to do about it is [`PlanError::hint`].

use std::path::{Path, PathBuf};

use crate::fault::{ConfigFault, ListFault};

/// Why a stack cannot be put together.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A variable that must be text is not UTF-8.
    #[error("{variable} is not valid UTF-8")]
    NotUnicode {
        /// Its name.
        variable: &'static str,
    },

    /// A variable that must be one of a few words is another one.
    #[error("{variable}={value} is none of {expected}")]
    Setting {
        /// Its name.
        variable: &'static str,
        /// What it is set to.
        value: String,
        /// The words it may be set to.
        expected: String,
    },

    /// An element of a tool list is malformed.
    #[error("{source_name}: element {position}{} {fault}", quoted(.element))]
    List {
        /// The variable or option that holds the list.
        source_name: &'static str,
        /// Which element, from 1.
        position: usize,
        /// Its text.
        element: String,
        /// What is wrong with it.
        fault: ListFault,
    },

    /// The configuration file cannot be read.
    #[error("cannot read the configuration file {}: {source}", .path.display())]
    ConfigRead {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },

    /// The configuration file says what means nothing.
    #[error("{}:{line}: {fault}", .path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong there.
        fault: ConfigFault,
    },

    /// No file belongs to the name of a tool. The name may still be one that a QMPI tool registers when it is loaded.
    #[error("no tool `{name}` found in {}", .searched.join(", "))]
    Unresolved {
        /// The name.
        name: String,
        /// Where it was looked for, in that order.
        searched: Vec<String>,
        /// The file name or section that resembles it most.
        nearest: Option<String>,
        /// A file in the current directory that may be meant.
        here: Option<String>,
        /// The configuration file has sections, but none for it.
        has_sections: bool,
    },

    /// The configuration file has no stack of this name.
    #[error("there is no stack `{name}` in {}", config.as_ref().map_or("the configuration: QMPI_CONFIG is not set".into(), |path| path.display().to_string()))]
    NoStack {
        /// The name.
        name: String,
        /// The file.
        config: Option<PathBuf>,
    },

    /// The file given for a tool is not there, or not a file.
    #[error("tool `{name}`: {} {}", .path.display(), if .path.is_dir() { "is a directory" } else { "does not exist" })]
    NoFile {
        /// The name of the layer.
        name: String,
        /// The path, absolute.
        path: PathBuf,
        /// The file in the same directory whose name resembles it most.
        nearest: Option<PathBuf>,
    },

    /// A library that a tool is to be loaded with is not there, or not a file.
    #[error("tool `{name}`: `with` names {}", absent(.file.as_deref(), .path))]
    NoWith {
        /// The name of the tool.
        name: String,
        /// The name that was looked for, if it was given without a directory.
        file: Option<PathBuf>,
        /// The path, absolute; of a name the place beside the tool.
        path: PathBuf,
        /// The file in the same directory whose name resembles it most.
        nearest: Option<PathBuf>,
    },

    /// A relative path was given where there is no current directory.
    #[error("cannot make {} absolute: {source}", .path.display())]
    Absolute {
        /// The path as given.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

impl PlanError {
    /// What the user can do about it, in one line.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotUnicode { .. } => "paths that are not UTF-8 cannot be listed; use a symbolic link".into(),
            Self::Setting { variable, .. } => format!("unset {variable} for the default"),
            Self::List { fault: ListFault::Empty, .. } => "separate the tools by one `,` or `:` each".into(),
            Self::List { .. } => "an element is NAME, PATH (with a `/`) or NAME=PATH".into(),
            Self::ConfigRead { .. } => "give another file with -c or in QMPI_CONFIG".into(),
            Self::Config { fault, .. } => fault.hint(),
            Self::Unresolved { here: Some(file), .. } => format!("it is here: write ./{file}"),
            Self::Unresolved { nearest: Some(nearest), .. } => format!("did you mean `{nearest}`?"),
            Self::Unresolved { name, has_sections: true, .. } => format!(
                "the configuration file has no [tool.{name}]: add one with `path`, or with `registered = true` if the program \
                 registers it"
            ),
            Self::Unresolved { name, .. } => {
                format!(
                    "give a path, ./{name} or {name}=PATH, or set QMPI_TOOL_PATH; if the program registers it: \
                     `registered = true` in [tool.{name}]"
                )
            }
            Self::NoStack { name, .. } => format!("[stacks] {name} = [\"outer\", \"inner\"]"),
            Self::NoFile { nearest: Some(nearest), .. } => format!("did you mean {}?", nearest.display()),
            Self::NoFile { .. } => "give the path of the tool's shared object".into(),
            Self::NoWith { nearest: Some(nearest), .. } => format!("did you mean {}?", nearest.display()),
            Self::NoWith { .. } => {
                "give the file's path: one with a `/` is relative to the configuration file's directory".into()
            }
            Self::Absolute { .. } => "give an absolute path".into(),
        })
    }
}

fn quoted(element: &str) -> String {
    if element.is_empty() { String::new() } else { format!(" (`{element}`)") }
}

/// What is wrong with a file of `with`.
fn absent(file: Option<&Path>, path: &Path) -> String {
    match file {
        Some(file) => {
            let beside = path.parent().unwrap_or(Path::new("/"));
            format!("{}, which is neither in {} nor in the linker's path", file.display(), beside.display())
        }
        None if path.is_dir() => format!("{}, which is a directory", path.display()),
        None => format!("{}, which does not exist", path.display()),
    }
}
