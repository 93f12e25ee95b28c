//! Why a layer could not be loaded.

use std::path::PathBuf;

use thiserror::Error;

/// A layer could not be loaded. `Display` is one line that names the file and the reason.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The plan refuses it.
    #[error(transparent)]
    Refused(#[from] qmpi_plan::PlanError),
    /// It is a tool, but not a PMPI tool.
    #[error("{}: it is not a PMPI tool; tools that speak QMPI register themselves", path.display())]
    NotPmpi {
        /// The file.
        path: PathBuf,
    },
    /// A tool of the 2018 prototype in a named stack.
    #[error("{}: tools of the 2018 prototype have their place in the main stack only", path.display())]
    MainStackOnly {
        /// The file.
        path: PathBuf,
    },
    /// A variable that the tool refers to is defined nowhere.
    #[error("{}: undefined symbol {symbol}: neither the tool's libraries nor the process define this variable", path.display())]
    UndefinedData {
        /// The tool.
        path: PathBuf,
        /// The variable.
        symbol: String,
    },
    /// A thread-local variable that the tool refers to is one of a library of the program, or the tool is a clone.
    #[error("{}: it refers to {symbol}, a thread-local variable that is out of reach from its namespace", path.display())]
    ThreadLocal {
        /// The tool.
        path: PathBuf,
        /// The variable.
        symbol: String,
    },
    /// All of glibc's namespaces are taken.
    #[error("{}: no namespace left for it: glibc has 16 of them, the program's own included; {reason}", path.display())]
    Namespaces {
        /// The tool.
        path: PathBuf,
        /// Why it cannot share one.
        reason: String,
    },
    /// The dynamic linker refused.
    #[error("{}: {message}", path.display())]
    Link {
        /// The tool, or the provider that was to be loaded for it.
        path: PathBuf,
        /// What `dlerror` says.
        message: String,
    },
    /// A provider could not be written.
    #[error(transparent)]
    Provider(#[from] qmpi_elf::write::provider::ProviderError),
    /// A provider could not be stored where `ld.so` finds it.
    #[error("{name}: cannot be kept in memory: {source}")]
    Memory {
        /// The provider.
        name: String,
        /// Why.
        source: std::io::Error,
    },
}

impl LoadError {
    /// What the dynamic linker said of this file, as an error.
    pub(crate) fn link<M: ToString>(path: impl Into<PathBuf>) -> impl FnOnce(M) -> LoadError {
        let path = path.into();
        move |message| LoadError::Link { path, message: message.to_string() }
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            LoadError::Refused(refusal) => refusal.hint().into(),
            LoadError::NotPmpi { path } | LoadError::MainStackOnly { path } => format!("qmpi inspect {}", path.display()),
            LoadError::UndefinedData { .. } => {
                "link the tool with the library that defines it (readelf -d shows what it is linked with), or name that library in \
                 `with` of its section"
                    .into()
            }
            LoadError::ThreadLocal { .. } => {
                "preload the tool beside the stack (LD_PRELOAD=TOOL qmpi run ...), or let it ask the program by a function".into()
            }
            LoadError::Namespaces { .. } => {
                "tools with libraries of their own that call MPI need one each: use at most 15 of them, fewer with LD_AUDIT".into()
            }
            LoadError::Link { message, .. } if message.contains("static TLS") => {
                "start the job with `qmpi run`, which makes room (glibc.rtld.optional_static_tls)".into()
            }
            LoadError::Link { .. } => "see whether it loads with LD_PRELOAD, and what LD_DEBUG=all says".into(),
            LoadError::Memory { source, .. } if source.kind() == std::io::ErrorKind::FileTooLarge => {
                "raise the limit (ulimit -f unlimited), which counts for files in memory, too".into()
            }
            LoadError::Provider(_) | LoadError::Memory { .. } => return None,
        })
    }
}
