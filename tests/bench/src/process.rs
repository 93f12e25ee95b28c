//! Processes that are measured, and others.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::failure::Failure;

/// Variables of a process.
pub(crate) type Environment = Vec<(&'static str, OsString)>;

/// What a process wrote.
pub(crate) struct Output {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// From now on this process and those that it starts have one processor: the last that it may use, as the first ones serve more
/// interrupts.
pub(crate) fn pin() -> Result<(), Failure> {
    let failed = |error: rustix::io::Errno| Failure::new(format!("cannot stay on one processor: {error}"));
    let allowed = rustix::thread::sched_getaffinity(None).map_err(failed)?;
    let last = (0..rustix::thread::CpuSet::MAX_CPU).rev().find(|&cpu| allowed.is_set(cpu));
    let mut one = rustix::thread::CpuSet::new();
    one.set(last.unwrap_or(0));
    rustix::thread::sched_setaffinity(None, &one).map_err(failed)
}

/// A command that no tool, and no variable of ours but those given, has an influence on.
fn command(program: &Path, arguments: &[&str], environment: &Environment) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    for (name, _) in std::env::vars_os() {
        let known = name.to_string_lossy();
        if known.starts_with("QMPI_") || known.starts_with("PNMPI_") || known.starts_with("MPIR_CVAR_QMPI") {
            command.env_remove(&name);
        }
    }
    for name in ["GLIBC_TUNABLES", "LD_PRELOAD", "TOOLS"] {
        command.env_remove(name);
    }
    // A single process needs no daemon.
    command.env("QMPI_LOG", "error").env("OMPI_MCA_ess_singleton_isolated", "1").env("PNMPI_BE_SILENT", "1");
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    command
}

/// Runs a program to its end. If it fails, what it says is the failure.
pub(crate) fn run(program: &Path, arguments: &[&str], environment: &Environment) -> Result<Output, Failure> {
    let words = || {
        let variables = environment.iter().map(|(name, value)| format!("{name}={} ", value.display()));
        format!("{}{} {}", variables.collect::<String>(), program.display(), arguments.join(" "))
    };
    let output = command(program, arguments, environment)
        .output()
        .map_err(|error| Failure::new(format!("cannot run: {}: {error}", words())))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    if output.status.success() {
        Ok(Output { stdout, stderr })
    } else {
        Err(Failure::new(format!("cannot run: {}: {}\n{stderr}", words(), output.status)))
    }
}

/// The first line that a program prints, if it can be run.
pub(crate) fn first_line(program: &str, arguments: &[&str]) -> Option<String> {
    let output = run(Path::new(program), arguments, &Environment::new()).ok()?;
    output.stdout.lines().next().map(str::to_owned)
}
