//! The command `qmpi`: sets a stack of tools up, shows it, and says what will not work, before a job starts.
//!
//! Everything that can be found out statically is found out here rather than in a thousand processes. What the tools do at run
//! time is the runtime's business (`libqmpi.so`), which this command only puts in place.
//!
//! | phase | modules |
//! |---|---|
//! | command line | [`args`], [`usage`] |
//! | which stack, and will it work | [`plan`] |
//! | what is started, and does the stack get to the ranks | [`launcher`] |
//! | the environment | [`environment`] |
//! | the processes of a running job | [`job`] |
//! | what is mapped in one | [`mapping`] |
//! | what a job measured | [`measured`] |
//! | how debuggers find the processes of a job | [`mpir`] |
//! | two sides of tools, compared | [`compare`] |
//! | a process that crashes | [`crash`] |
//! | the commands | [`commands`] |
//! | what they print | [`report`] |
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a panic is how a test fails"))]

pub mod args;
pub mod commands;
pub mod compare;
pub mod crash;
pub mod ended;
pub mod environment;
mod error;
pub mod job;
pub mod launcher;
pub mod mapping;
pub mod measured;
pub mod mpir;
pub mod plan;
pub mod report;
pub mod usage;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use commands::tools;
use commands::{
    attach, bisect, compare as compared, crashed, ctl, demo, doctor, env, generate, inspect, list, ps,
    report as reported, run, surveyed,
};
use compare::rank;
pub use error::Error;
use report::terminal;

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
    match &mut cli.command {
        Command::Run(args) => args.stack.command.clone_from(&args.command),
        Command::Ps(args) => args.stack.command.clone_from(&args.command),
        Command::Doctor(args) => args.stack.command.clone_from(&args.command),
        Command::Bisect(args) => args.stack.command.clone_from(&args.command),
        _ => {}
    }
    // `false`: the question was answered, and the answer is bad.
    let good = match &cli.command {
        Command::Run(args) => run::run(args).map(|()| true),
        Command::Compare(args) => return compared_status(compared::compare(args)),
        Command::Crashed(args) => return ExitCode::from(crashed::crashed(args)),
        Command::Rank(args) => rank::become_program(args).map(|()| true),
        Command::Report(args) => reported::report(args).map(|()| true),
        Command::Inspect(args) => inspect::inspect(args),
        Command::List(args) => list::list(args).map(|()| true),
        Command::Bisect(args) => bisect::bisect(args),
        Command::Tools(args) => tools::tools(args).map(|()| true),
        Command::Env(args) => env::env(args).map(|()| true),
        Command::Ctl(args) => ctl::ctl(args).map(|()| true),
        Command::Ps(args) => ps::ps(args).map(|()| true),
        Command::Attach(args) => attach::attach(args),
        Command::Survey(args) => surveyed::answer(args).map(|()| true),
        Command::Doctor(args) => doctor::doctor(args),
        Command::Demo(args) => demo::demo(args).map(|()| true),
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

/// `compare` has statuses of its own: as of diff(1), 1 is an answer.
fn compared_status(answer: Result<bool, Error>) -> ExitCode {
    match answer {
        Ok(same) => ExitCode::from(u8::from(!same)),
        Err(error) => {
            terminal::report(&error);
            ExitCode::from(2)
        }
    }
}
