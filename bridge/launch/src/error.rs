//! Everything that keeps a command from being started, or a process from being looked into: one line, one hint, one exit status.

use std::io;
use std::path::PathBuf;

/// Why a command cannot be started, or a process not be looked into.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The tool list, the configuration file or the search for a tool.
    #[error(transparent)]
    Stack(#[from] qmpi_plan::PlanError),

    /// A file that is not what it should be.
    #[error(transparent)]
    Inspect(#[from] qmpi_elf::ElfError),

    /// MPI is inside the executable, where nothing can be put in front of it.
    #[error("{} is linked statically with MPI: its MPI calls cannot be intercepted", .0.display())]
    StaticMpi(PathBuf),

    /// A path that cannot be handed to the MPI processes.
    #[error("tool `{layer}`: {} cannot be passed on: {why}", .path.display())]
    Unlistable {
        /// The layer.
        layer: String,
        /// Its file.
        path: PathBuf,
        /// Which character is in the way.
        why: &'static str,
    },

    /// The runtime is in none of these places.
    #[error("libqmpi.so not found: no {}", .0.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", "))]
    NoRuntime(Vec<PathBuf>),

    /// What the user calls the runtime is something else: its path, and what it is not.
    #[error("QMPI_RUNTIME: {} is no {}", .0.display(), .1)]
    NotRuntime(PathBuf, String),

    /// The path of a runtime or of a tool that cannot stand in `LD_PRELOAD`.
    #[error("{} cannot be preloaded: LD_PRELOAD is separated by blanks and colons", .0.display())]
    Preload(PathBuf),

    /// COMMAND is nowhere.
    #[error("{0}: command not found")]
    CommandNotFound(String),

    /// COMMAND, as given, is there but does not start.
    #[error("{0}: cannot be executed: {1}")]
    CommandNotExecutable(String, #[source] io::Error),

    /// A file of a rank of `qmpi compare` that cannot be written.
    #[error("{}: {}", .0.display(), .1)]
    RankFile(PathBuf, #[source] io::Error),

    /// No process has this number.
    #[error("there is no process {0}")]
    NoProcess(u32),

    /// A process, by its number, cannot be looked into, or not be changed.
    #[error("process {0}: {1}")]
    Control(u32, #[source] io::Error),

    /// No process has a layer that can be switched: of which ones, as the beginning of a sentence.
    #[error("{0} has layers that can be switched")]
    NothingToSwitch(String),

    /// The sockets or signals of `--mpir`.
    #[error("the job cannot be shown to debuggers: {0}")]
    Mpir(io::Error),

    /// A job without ranks: the process that was named.
    #[error(
        "neither process {0} nor one below it has a table of processes (MPIR), and none is a rank of a known launcher"
    )]
    NoRanks(u32),
}

impl LaunchError {
    /// Why a command could not be started, by what the system said.
    pub fn of_start(command: &std::ffi::OsStr, source: io::Error) -> Self {
        let command = command.to_string_lossy().into_owned();
        match source.kind() {
            io::ErrorKind::NotFound => Self::CommandNotFound(command),
            _ => Self::CommandNotExecutable(command, source),
        }
    }

    /// The exit status of the command.
    pub fn status(&self) -> u8 {
        match self {
            Self::CommandNotExecutable(..) => 126,
            Self::CommandNotFound(_) => 127,
            _ => 3,
        }
    }

    /// What the user can do about it, in one line.
    pub fn hint(&self) -> String {
        let hint = match self {
            Self::Stack(error) => error.hint(),
            Self::Inspect(error) => return error.hint().unwrap_or_else(|| "give the path of a shared object".into()),
            Self::StaticMpi(_) => "link the application with the shared MPI library",
            Self::Unlistable { .. } => {
                "make a symbolic link with a plain name, or set `path` in the configuration file"
            }
            Self::NotRuntime(..) => "unset QMPI_RUNTIME, or set it to a libqmpi.so",
            Self::NoRuntime(_) => "build it (`cargo build --release`), or set QMPI_RUNTIME to a libqmpi.so",
            Self::Preload(_) => "make a symbolic link and name that in QMPI_RUNTIME",
            Self::CommandNotFound(command) if command.contains('/') => "check the path",
            Self::CommandNotFound(_) => "check the spelling and PATH",
            Self::CommandNotExecutable(..) => "is it a program, and does it have permission to be executed?",
            Self::RankFile(..) => "is the disk full?",
            Self::NoProcess(_) => "the process has to be on this host, and to be running",
            Self::Control(..) => "only processes of the same user can be looked into, and be switched",
            Self::NothingToSwitch(_) => {
                "start the job by `qmpi run --ctl`, or write `switch = true` into the tool's section"
            }
            Self::Mpir(_) => "run the job without --mpir",
            Self::NoRanks(_) => "start the job by `qmpi run --mpir`, or name the process of its launcher",
        };
        hint.to_owned()
    }
}
