//! The command `qmpi`: sets a stack of tools up, shows it, and says what will not work, before a job starts.
//!
//! Everything that can be found out statically is found out here rather than in a thousand processes. What the tools do at run
//! time is the runtime's business (`libqmpi.so`), which this command only puts in place.
//!
//! | phase | modules |
//! |---|---|
//! | command line | [`args`], [`usage`], [`generate`] |
//! | which stack | [`request`], [`registrar`], [`manifest`] |
//! | will it work | [`layer`], [`program`], [`namespaces`], [`plan`], [`survey`] |
//! | will it get to the ranks | [`launcher`], [`forward`] |
//! | the environment | [`environment`], [`preload`], [`tunables`], [`runtime`], [`shell`] |
//! | the commands | [`run`], [`inspect`], [`list`], [`env`](mod@env), [`doctor`] |
//! | what they print | [`tool_report`], [`mpi_report`], [`launch_report`], [`edges`] |
//! | how they print it | [`terminal`], [`warning`], [`check`], [`listing`] |
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a panic is how a test fails"))]

pub mod args;
pub mod check;
pub mod doctor;
pub mod edges;
pub mod env;
pub mod environment;
mod error;
pub mod executable;
pub mod forward;
pub mod generate;
pub mod glibc;
pub mod inspect;
pub mod installed_mpi;
pub mod launch_report;
pub mod launcher;
pub mod layer;
pub mod list;
pub mod listing;
pub mod manifest;
pub mod mpi_report;
pub mod namespaces;
pub mod plan;
pub mod preload;
pub mod program;
pub mod registrar;
pub mod request;
pub mod run;
pub mod runtime;
pub mod shell;
pub mod survey;
pub mod surveyed;
pub mod terminal;
pub mod tool_report;
pub mod tunables;
pub mod usage;
pub mod warning;

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
    let args: Vec<OsString> = args.collect();
    let mut cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => return usage::report(&error, &args),
    };
    if let Command::Run(args) = &mut cli.command {
        args.stack.command.clone_from(&args.command);
    }
    // `false`: the question was answered, and the answer is bad.
    let good = match &cli.command {
        Command::Run(args) => run::run(args).map(|()| true),
        Command::Inspect(args) => inspect::inspect(args),
        Command::List(args) => list::list(args).map(|()| true),
        Command::Env(args) => env::env(args).map(|()| true),
        Command::Survey(args) => surveyed::answer(args).map(|()| true),
        Command::Doctor(args) => doctor::doctor(args),
        Command::Completions { shell } => generate::completions(*shell).map(|()| true),
        Command::Man(args) => generate::man(args).map(|()| true),
    };
    match good {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(3),
        Err(error) => {
            terminal::report(&error);
            ExitCode::from(error.status())
        }
    }
}
