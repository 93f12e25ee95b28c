//! `qmpi env`: the variables that `run` would set, as commands for a POSIX shell.

use crate::args::EnvArgs;
use crate::report::warning::Warning;
use crate::report::{shell, terminal};
use crate::{Error, plan};

/// Prints `export NAME='VALUE'` lines.
///
/// # Errors
/// Whatever stops the stack: an incomplete environment is never printed.
pub fn env(args: &EnvArgs) -> Result<(), Error> {
    let get = |name: &str| std::env::var_os(name);
    let plan = plan::make(&args.stack, args.verbosity, &args.measure, args.load, &get)?;
    plan.check_mpis()?;
    if !args.verbosity.quiet {
        Warning::print_all(&plan.warnings, &get);
    }
    let lines =
        plan.variables.iter().map(|variable| format!("export {}={}\n", variable.name, shell::quote(&variable.value)));
    terminal::answer(&lines.collect::<String>())
}
