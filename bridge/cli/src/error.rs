//! Everything that stops a command: one line, one hint, one exit status.

use std::io;
use std::path::PathBuf;

use qmpi_elf::MpiFamily;
use qmpi_plan::Refusal;

use crate::job::Job;

/// Why a command cannot do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The command line makes no sense.
    #[error("{message}")]
    Usage {
        /// What is wrong.
        message: String,
        /// What would be right.
        hint: String,
    },

    /// The tool list, the configuration file or the search for a tool.
    #[error(transparent)]
    Stack(#[from] qmpi_plan::Error),

    /// A file that is not what it should be.
    #[error(transparent)]
    Inspect(#[from] qmpi_elf::Error),

    /// A tool that cannot be a layer.
    #[error("tool `{layer}`: {refusal}")]
    Refused {
        /// The layer.
        layer: String,
        /// Why not.
        refusal: Refusal,
    },

    /// Tools that are built for several MPIs.
    #[error("tool `{layer}` is built for {family} and tool `{other}` for {other_family}: no process has both")]
    SeveralMpis {
        /// One layer.
        layer: String,
        /// Its MPI.
        family: MpiFamily,
        /// Another one.
        other: String,
        /// Its MPI.
        other_family: MpiFamily,
    },

    /// A tool from elsewhere than the site allows.
    #[error("tool `{layer}`: {path} is in none of the directories that `allowed` of the site's configuration names")]
    NotAllowed {
        /// The layer.
        layer: String,
        /// Its file.
        path: String,
        /// These directories.
        allowed: String,
    },

    /// A library of `share` that no rank would find.
    #[error("{message}, and {} does not bring it", .program.display())]
    MissingShare {
        /// Which layer names which library.
        message: String,
        /// The program.
        program: PathBuf,
    },

    /// A stack of `[stacks]` that cannot be opened.
    #[error("[stacks] {stack}: {error}")]
    InNamedStack {
        /// Its name.
        stack: String,
        /// Why not.
        error: Box<Error>,
    },

    /// A launcher of another MPI than the program's.
    #[error("{} uses {family}, and the launcher is {launcher}'s: each process would be a job of its own", .program.display())]
    OtherLauncher {
        /// The launcher's kind.
        launcher: &'static str,
        /// The program.
        program: PathBuf,
        /// Its MPI.
        family: &'static str,
    },

    /// A library of several QMPI tools, none of which has the layer's name.
    #[error("layer `{layer}`: {} registers the tools {names}", .path.display())]
    OtherNames {
        /// The layer.
        layer: String,
        /// Its file.
        path: PathBuf,
        /// The tools that it registers.
        names: String,
    },

    /// More private namespaces than there are.
    #[error("{count} instances need a namespace of their own, and glibc has {left} for tools ({layer}: {reason})")]
    TooManyLayers {
        /// How many need one.
        count: usize,
        /// How many there are.
        left: usize,
        /// One of them.
        layer: String,
        /// Why it cannot share one.
        reason: String,
    },

    /// MPI is inside the executable, where nothing can be put in front of it.
    #[error("{} is linked statically with MPI: its MPI calls cannot be intercepted", .program.display())]
    StaticMpi {
        /// The application.
        program: PathBuf,
    },

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

    /// No run of a comparison ended well, or of one side of it.
    #[error("no run {which}ended well: {status}{}", first_line(.said))]
    NoRun {
        /// Of which side; empty: of both.
        which: String,
        /// How they end.
        status: String,
        /// The first line that they print on stderr.
        said: String,
    },

    /// No run of a comparison called MPI, or of one side of it.
    #[error("no call of MPI was recorded{which}: there is nothing to compare")]
    NoCalls {
        /// On which side; empty: on both.
        which: String,
    },

    /// A directory of `--report` that has nothing to show.
    #[error("{}: {problem}", .path.display())]
    Report {
        /// The directory, or a file in it.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },

    /// A page for a browser that cannot be written.
    #[error("{}: the page cannot be written: {source}", .path.display())]
    WriteHtml {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },

    /// The runtime is nowhere.
    #[error("{}", no_runtime(.searched, *.given))]
    NoRuntime {
        /// Where it could have been.
        searched: Vec<PathBuf>,
        /// The user said where.
        given: bool,
    },

    /// What the user calls the runtime is something else.
    #[error("QMPI_RUNTIME: {} is no libqmpi.so: {reason}", .path.display())]
    NotRuntime {
        /// The file.
        path: PathBuf,
        /// What shows it.
        reason: String,
    },

    /// The library that loads the tools cannot be opened.
    #[error("{}: {message}", .path.display())]
    Core {
        /// The library.
        path: PathBuf,
        /// What the dynamic linker says.
        message: String,
    },

    /// The path of the runtime cannot stand in `LD_PRELOAD`.
    #[error("{} cannot be preloaded: LD_PRELOAD is separated by blanks and colons", .path.display())]
    Preload {
        /// The runtime.
        path: PathBuf,
    },

    /// There is no MPI to compile or start a program with.
    #[error("{command}: command not found, and `qmpi demo` needs an MPI with its compiler wrapper")]
    NoMpi {
        /// What was looked for.
        command: String,
    },

    /// `qmpi demo` cannot go on.
    #[error("{what}")]
    Demo {
        /// What went wrong.
        what: String,
    },

    /// COMMAND is nowhere.
    #[error("{command}: command not found")]
    CommandNotFound {
        /// As given.
        command: String,
    },

    /// COMMAND is there but does not start.
    #[error("{command}: cannot be executed: {source}")]
    CommandNotExecutable {
        /// As given.
        command: String,
        /// Why not.
        source: io::Error,
    },

    /// No process has this number.
    #[error("there is no process {pid}")]
    NoProcess {
        /// The number.
        pid: u32,
    },

    /// A process cannot be looked into, or not be changed.
    #[error("process {pid}: {source}")]
    Control {
        /// Its number.
        pid: u32,
        /// Why not.
        source: io::Error,
    },

    /// No process has a layer that can be switched.
    #[error("{}", nothing_to_switch(*.job))]
    NothingToSwitch {
        /// Which processes.
        job: Job,
    },

    /// No process has a layer of this name that can be switched.
    #[error("no process has a layer `{layer}` that can be switched: there are {}", .known.join(", "))]
    NoSwitch {
        /// The name.
        layer: String,
        /// Those that there are.
        known: Vec<String>,
    },

    /// The sockets or signals of `--mpir`.
    #[error("the job cannot be shown to debuggers: {0}")]
    Mpir(io::Error),

    /// A job without ranks.
    #[error("{}", no_ranks(*.pid))]
    NoRanks {
        /// The process that was named.
        pid: u32,
    },

    /// A manual page cannot be written.
    #[error("cannot write {}: {source}", .path.display())]
    WritePage {
        /// The page.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },

    /// Stdout cannot be written.
    #[error("cannot write the answer: {0}")]
    Output(io::Error),
}

impl Error {
    /// The exit status of the command.
    #[must_use]
    pub fn status(&self) -> u8 {
        match self {
            Self::Usage { .. } | Self::MissingShare { .. } => 2,
            Self::CommandNotExecutable { .. } => 126,
            Self::CommandNotFound { .. } => 127,
            _ => 3,
        }
    }

    /// What the user can do about it, in one line.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Usage { hint, .. } => hint.clone(),
            Self::Stack(error) => error.hint().unwrap_or_else(|| "see `qmpi run --help`".into()),
            Self::Inspect(error) => error.hint().unwrap_or_else(|| "give the path of a shared object".into()),
            Self::Refused { refusal, .. } => refusal.hint(),
            Self::TooManyLayers { left, .. } => {
                format!("use at most {left} PMPI tools; QMPI tools do not count")
            }
            Self::SeveralMpis { .. } => "take all tools in their builds for the program's MPI".into(),
            Self::NotAllowed { allowed, .. } => {
                format!("take a tool of {allowed}: `qmpi tools` lists those with names")
            }
            Self::MissingShare { .. } => {
                "check the spelling: a SONAME is wanted, such as libhdf5.so.103; or set LD_LIBRARY_PATH".into()
            }
            Self::InNamedStack { error, .. } => error.hint(),
            Self::OtherLauncher { family, .. } => {
                format!("use the mpiexec of {family}, by its path where several are installed")
            }
            Self::OtherNames { path, names, .. } => {
                let first = names.split(',').next().unwrap_or_default();
                format!("write which of them is meant: -t {first}={}", path.display())
            }
            Self::StaticMpi { .. } => "link the application with the shared MPI library".into(),
            Self::Unlistable { .. } => {
                "make a symbolic link with a plain name, or set `path` in the configuration file".into()
            }
            Self::NoRuntime { given: true, .. } | Self::NotRuntime { .. } => {
                "unset QMPI_RUNTIME, or set it to a libqmpi.so".into()
            }
            Self::NoRuntime { .. } => "build it (`cargo build --release`), or set QMPI_RUNTIME to a libqmpi.so".into(),
            Self::Core { .. } => "libqmpi_core.so belongs into the directory of libqmpi.so".into(),
            Self::Preload { .. } => "make a symbolic link and name that in QMPI_RUNTIME".into(),
            Self::NoMpi { .. } => {
                "install an MPI for development (Debian: libopenmpi-dev, libmpich-dev), load its module, or name it: --mpicc COMMAND".into()
            }
            Self::Demo { .. } => "the lines above say why; `qmpi doctor` looks at this machine".into(),
            Self::CommandNotFound { command } if command.contains('/') => "check the path".into(),
            Self::CommandNotFound { .. } => "check the spelling and PATH".into(),
            Self::CommandNotExecutable { .. } => "is it a program, and does it have permission to be executed?".into(),
            Self::NoProcess { .. } => "the process has to be on this host, and to be running".into(),
            Self::Control { .. } => "only processes of the same user can be looked into, and be switched".into(),
            Self::NothingToSwitch { .. } => {
                "start the job by `qmpi run --ctl`, or write `switch = true` into the tool's section".into()
            }
            Self::NoSwitch { .. } => "`qmpi ctl JOB list` shows the layers".into(),
            Self::NoRun { .. } => {
                "run COMMAND alone, and with the tools of this side; what it printed is in the directories of the runs".into()
            }
            Self::NoCalls { .. } => "is COMMAND a program that calls MPI? `qmpi inspect PROGRAM` says what it is".into(),
            Self::Report { .. } => {
                "`qmpi run --report=DIR ...` writes it; each rank adds its record at MPI_Finalize and when it ends"
                    .into()
            }
            Self::WriteHtml { .. } => "name a file that can be written: --html=FILE".into(),
            Self::Mpir(_) => "run the job without --mpir".into(),
            Self::NoRanks { .. } => "start the job by `qmpi run --mpir`, or name the process of its launcher".into(),
            Self::WritePage { .. } => "give a directory that can be written with --output".into(),
            Self::Output(_) => "is the disk full?".into(),
        }
    }
}

fn first_line(line: &str) -> String {
    if line.is_empty() { String::new() } else { format!(": {line}") }
}

fn nothing_to_switch(job: Job) -> String {
    match job {
        Job::Of(pid) => format!("neither process {pid} nor one below it has layers that can be switched"),
        Job::All => "no process of this user on this host has layers that can be switched".into(),
    }
}

fn no_ranks(pid: u32) -> String {
    format!(
        "neither process {pid} nor one below it has a table of processes (MPIR), and none is a rank of a known launcher"
    )
}

fn no_runtime(searched: &[PathBuf], given: bool) -> String {
    let places: Vec<String> = searched.iter().map(|path| path.display().to_string()).collect();
    let places = places.join(", ");
    if given { format!("QMPI_RUNTIME: {places} is no file") } else { format!("libqmpi.so not found: no {places}") }
}
