//! The command `qmpi`: sets a stack of tools up, shows it, and says what will not work, before a job starts.
//!
//! Everything that can be found out statically is found out here rather than in a thousand processes. What the tools do at run
//! time is the runtime's business (`libqmpi.so`), which this command only puts in place. In this order: a module imports only from modules
//! above it.
//!
//! | what | modules |
//! |---|---|
//! | the arguments | `args` |
//! | what stops a command; messages, answers; errors in the arguments | `error`, `terminal`, `usage` |
//! | which stack, and will it work | `plan` |
//! | what files, launchers and machines are, in words | `report` |
//! | a side of a comparison, and one run of it | `side`, `side_run` |
//! | the commands | `commands` |
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a panic is how a test fails"))]

mod args;
mod commands;
mod error;
mod plan;
mod report;
mod side;
mod side_run;
mod terminal;
mod usage;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

pub use args::Cli;
use args::QmpiCommand;
use commands::{
    attach, bisect, compare, ctl, demo, doctor, env, generate, inspect, list, ps, report as reported, run, surveyed,
    tools,
};
use error::Error;
use qmpi_launch::LaunchError;

/// The whole command: parses `args`, does what they say, prints an error once.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.collect();
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => return usage::report(&error, &args),
    };
    // `false`: the question was answered, and the answer is bad.
    let good = match &cli.command {
        QmpiCommand::Run(args) => run::run(args, &mut |_| {}).map(|()| true),
        QmpiCommand::Compare(args) => compare::compare(args),
        QmpiCommand::Rank { start, command } => {
            start.become_program(command).map(|never| match never {}).map_err(Error::from)
        }
        QmpiCommand::Report(args) => reported::report(args).map(|()| true),
        QmpiCommand::Inspect(args) => inspect::inspect(args),
        QmpiCommand::List(args) => list::list(args).map(|()| true),
        QmpiCommand::Bisect(args) => bisect::bisect(args),
        QmpiCommand::Tools(args) => tools::tools(args).map(|()| true),
        QmpiCommand::Env(args) => env::env(args).map(|()| true),
        QmpiCommand::Ctl(args) => ctl::ctl(args).map(|()| true),
        QmpiCommand::Ps(args) => ps::ps(args).map(|()| true),
        QmpiCommand::Attach(args) => attach::attach(args),
        QmpiCommand::Survey { core, request } => surveyed::answer(core, request).map(|()| true),
        QmpiCommand::Doctor(args) => doctor::doctor(args),
        QmpiCommand::Demo(args) => demo::demo(args).map(|()| true),
        QmpiCommand::Completions { shell } => generate::completions(*shell).map(|()| true),
        QmpiCommand::Man { page, output } => generate::man(page.as_deref(), output.as_deref()).map(|()| true),
    };
    // As of diff(1), 1 is an answer of `compare`, and 2 an error.
    let is_compare = matches!(cli.command, QmpiCommand::Compare(_));
    match good {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(if is_compare { 1 } else { 3 }),
        Err(error) => {
            terminal::report(&error);
            ExitCode::from(if is_compare { 2 } else { error.status })
        }
    }
}
