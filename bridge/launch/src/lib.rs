//! What stands between the command line of `qmpi` and the ranks: launchers, variables, containers, debuggers, processes that run.
//!
//! In this order: a module imports only from modules above it.
//!
//! | what | module |
//! |---|---|
//! | what keeps a command from being started; which processes of this host are meant | `error`, [`processes`] |
//! | words for a shell; what the user should know | [`shell`], [`warning`] |
//! | what is mapped in a process | [`mapping`] |
//! | the file of a command; programs that run the rest of their command line; launchers; containers | [`executable`], `wrapper`, [`launcher`], [`container`] |
//! | the MPI program in COMMAND; MPI libraries of this machine | [`program`], [`installed_mpi`] |
//! | the variables that a stack consists of, and launchers that are told to pass them on | [`environment`], [`forward`] |
//! | how debuggers find the ranks of a job, and the ranks of a job that runs | [`mpir`] |
//! | runs of `qmpi compare`: COMMAND, what it finds in its directory, what is in front of each rank | [`command_line`], [`run_directory`], [`rank_start`] |
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a panic is how a test fails"))]

pub mod command_line;
pub mod container;
pub mod environment;
mod error;
pub mod executable;
pub mod forward;
pub mod installed_mpi;
pub mod launcher;
pub mod mapping;
pub mod mpir;
pub mod processes;
pub mod program;
pub mod rank_start;
pub mod run_directory;
pub mod shell;
pub mod warning;
mod wrapper;

pub use error::LaunchError;
pub use warning::Warning;
