//! Why a tool cannot be a layer.

use std::path::PathBuf;

use qmpi_elf::MpiFamily;

/// Why a tool cannot be a layer, in one line; the caller says which layer it is.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Not a sound shared object of this machine.
    #[error(transparent)]
    File(#[from] qmpi_elf::ElfError),

    /// A shared object that intercepts nothing.
    #[error("{} is not an MPI tool: {reason}", .path.display())]
    NotATool {
        /// The file.
        path: PathBuf,
        /// Why not, as a clause.
        reason: String,
    },

    /// An MPI library was given where a tool belongs.
    #[error("{} is an MPI library, not a tool", .path.display())]
    IsMpi {
        /// The file.
        path: PathBuf,
    },

    /// A library that the tool needs is nowhere.
    #[error("{by} needs {library}, which is not found")]
    MissingLibrary {
        /// The object that needs it.
        by: String,
        /// Its SONAME.
        library: String,
    },

    /// The inspection sees that the dynamic linker will refuse it, or that it works with no MPI.
    #[error("{}: {message}", .path.display())]
    WillNotLoad {
        /// The file.
        path: PathBuf,
        /// What stops it.
        message: String,
    },

    /// The settings name a function that the tool does not define.
    #[error("{}: `wraps` names {name}, which the tool does not define", .path.display())]
    WrapsUnknown {
        /// The file.
        path: PathBuf,
        /// The function.
        name: String,
        /// The function of the tool that resembles it most.
        nearest: Option<String>,
    },

    /// A setting that only tools with a namespace of their own can have.
    #[error("{}: `{setting}` is for PMPI tools, and this is {what}", .path.display())]
    PmpiOnly {
        /// The file, or the name of a tool without one.
        path: PathBuf,
        /// The key of the configuration file.
        setting: &'static str,
        /// What it is instead.
        what: &'static str,
    },

    /// The tool is built for another MPI.
    #[error("{} is built for {tool}, but {user} uses {mpi}", .path.display())]
    OtherMpi {
        /// The file.
        path: PathBuf,
        /// The MPI that the tool is built for.
        tool: MpiFamily,
        /// The program, or the process.
        user: String,
        /// The MPI there.
        mpi: String,
    },
}

impl Refusal {
    /// What the user can do about it, in one line.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::File(error) => error.hint().unwrap_or_else(|| "give the path of a shared object".into()),
            Self::NotATool { path, .. } => format!("`qmpi inspect {}` shows what it is", path.display()),
            Self::IsMpi { .. } => "the application brings its own MPI library; name only tools".into(),
            Self::MissingLibrary { .. } => {
                "load the tool's module, or add the library's directory to LD_LIBRARY_PATH".into()
            }
            Self::PmpiOnly { setting: "with", .. } => {
                "link the tool with these libraries, or preload them: it is loaded into the program's own namespace"
                    .into()
            }
            Self::PmpiOnly { setting, .. } => {
                format!("leave `{setting}` out: such a tool says with each call which layers it goes past")
            }
            Self::WillNotLoad { path, .. } => format!("`qmpi inspect {}` shows what it needs", path.display()),
            Self::WrapsUnknown { nearest: Some(nearest), .. } => format!("did you mean `{nearest}`?"),
            Self::WrapsUnknown { path, .. } => format!("`qmpi inspect {}` lists what it defines", path.display()),
            Self::OtherMpi { mpi, .. } => format!("use the tool's build for {mpi}"),
        }
    }
}
