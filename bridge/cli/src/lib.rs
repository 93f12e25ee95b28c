//! The command `qmpi`: sets a stack of tools up, shows it, and says what will not work, before a job starts.
//!
//! Everything that can be found out statically is found out here rather than in a thousand processes. What the tools do at run
//! time is the runtime's business (`libqmpi.so`), which this command only puts in place.
//!
//! | phase | modules |
//! |---|---|
//! | command line | [`args`], [`generate`] |
//! | which stack | [`request`], [`manifest`] |
//! | will it work | [`layer`], [`program`], [`plan`] |
//! | the environment | [`environment`], [`preload`], [`tunables`], [`runtime`], [`shell`] |
//! | the commands | [`run`], [`inspect`], [`list`], [`env`](mod@env), [`doctor`] |
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a panic is how a test fails"))]

pub mod args;
pub mod doctor;
pub mod edges;
pub mod env;
pub mod environment;
mod error;
pub mod executable;
pub mod generate;
pub mod glibc;
pub mod inspect;
pub mod installed_mpi;
pub mod layer;
pub mod list;
pub mod manifest;
pub mod plan;
pub mod preload;
pub mod program;
pub mod request;
pub mod run;
pub mod runtime;
pub mod shell;
pub mod terminal;
pub mod tunables;
mod usage;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
pub use error::Error;

/// The version of everything printed with `--json`. It grows when a field is removed or changes its meaning, not when one
/// is added.
pub const SCHEMA: u32 = 1;

/// The whole command: parses `args`, does what they say, prints an error once.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => return usage::report(&error),
    };
    let result = match &cli.command {
        Command::Run(args) => run::run(args).map(|()| ExitCode::SUCCESS),
        Command::Inspect(args) => inspect::inspect(args).map(|()| ExitCode::SUCCESS),
        Command::List(args) => list::list(args).map(|()| ExitCode::SUCCESS),
        Command::Env(args) => env::env(args).map(|()| ExitCode::SUCCESS),
        Command::Doctor(args) => doctor::doctor(args).map(|ok| if ok { ExitCode::SUCCESS } else { ExitCode::from(3) }),
        Command::Completions { shell } => generate::completions(*shell).map(|()| ExitCode::SUCCESS),
        Command::Man(args) => generate::man(args).map(|()| ExitCode::SUCCESS),
    };
    result.unwrap_or_else(|error| {
        terminal::report(&error);
        ExitCode::from(error.status())
    })
}
