//! `qmpi run`: check everything, set the environment, see that a launcher passes it on, become COMMAND, or stay its parent (`--mpir`).

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use qmpi_elf::ElfFile;
use qmpi_launch::environment::{EnvironmentVariable, of_process};
use qmpi_launch::forward::{self, Forward};
use qmpi_launch::launcher::LauncherInCommand;
use qmpi_launch::mpir::listener::Listener;
use qmpi_launch::mpir::table::MpirProcess;
use qmpi_launch::mpir::{child, hosts, starter};
use qmpi_launch::program::{self, Program};
use qmpi_launch::shell::quote_if_needed;
use qmpi_launch::{Warning, executable};
use qmpi_measured::MeasuredJob;
use qmpi_measured::{rank_file, tables};
use qmpi_plan::launcher::Line;

use crate::args::RunArgs;
use crate::plan::{self, CheckedStack, registered};
use crate::report::container;
use crate::report::listing::stack;
use crate::terminal;
use crate::{Error, LaunchError};

/// Runs COMMAND in place of this process; returns only for `--dry-run` and errors.
pub(crate) fn run(args: &RunArgs, on_table: &mut dyn FnMut(&[&MpirProcess])) -> Result<(), Error> {
    let mut checked = plan::check(&args.stack, &args.command, args.verbosity, &of_process)?;
    let mut variables = checked.variables(&args.runtime, &of_process)?;
    let first = args.command.first().cloned().unwrap_or_default();
    let path = std::env::var_os("PATH");
    if !executable::exists(&first, path.as_deref()) {
        let command = first.to_string_lossy().into_owned();
        return Err(LaunchError::CommandNotFound(command).into());
    }
    if let Some(library) = library(&args.command, path.as_deref()) {
        return Err(library);
    }
    let survey = program::find(&args.command, path.as_deref(), &checked.search)?;
    let found = checked.check_command(survey.program.as_ref(), &args.command)?;
    checked.check_mpis()?;
    registered::check(&checked.layers, checked.resolved.stack.on_error)?;
    let reception = if args.mpir && !args.dry_run { Some(reception(args, found.as_ref())?) } else { None };
    if let Some(reception) = &reception {
        variables.push(reception.variable().map_err(LaunchError::Mpir)?);
    }
    let forward = match &found {
        Some(found) => forward::forward(&args.command, found, &variables, &of_process),
        None => Forward { command: args.command.clone(), ..Forward::default() },
    };
    if !args.verbosity.quiet {
        let is_quiet = args.dry_run || args.runtime.directory().is_some();
        let no_tools = if is_quiet { None } else { no_tools(&checked, args) };
        let container = container::look_at(&checked, &variables, &args.command).filter(|_| checked.has_request);
        let container = container.and_then(|(_, lacks)| lacks);
        let found = [&checked.warnings, &survey.warnings, &forward.warnings];
        terminal::warn_once(no_tools.iter().chain(&container).chain(found.into_iter().flatten()));
    }
    if args.verbosity.verbose > 0 {
        notes(&checked, survey.program.as_ref(), found.as_ref(), &forward);
    }
    let Forward { command, list, .. } = forward;
    variables.extend(list);
    if args.dry_run {
        return terminal::answer(&dry_run(&checked, &variables, &command));
    }
    // A rank clears nothing: other ranks may have written their records. Nor does it print a table of the job.
    if let Some(directory) = args.runtime.directory().filter(|_| qmpi_plan::rank_from_env(&of_process).is_none()) {
        rank_file::clear(&directory)?;
        if args.runtime.stats && reception.is_none() {
            let status = child::run(&command, &variables)?;
            print_calls(&directory);
            child::end_as(status);
        }
    }
    let Some(reception) = reception else { return Err(become_command(&command, &variables)) };
    match starter::run(&command, &variables, reception, on_table, &terminal::warn)? {}
}

/// Where ranks report: over the network, too, if they may be on other hosts.
fn reception(args: &RunArgs, found: Option<&LauncherInCommand>) -> Result<Listener, Error> {
    let words = found.map(|found| found.args(&args.command)).unwrap_or_default();
    let line = found.map(|found| Line { launcher: found.launcher, args: &words, get: &of_process });
    Ok(Listener::open(&hosts::addresses(&hosts::of_job(line.as_ref(), &of_process))).map_err(LaunchError::Mpir)?)
}

/// A COMMAND that is a tool: the option was forgotten.
fn library(command: &[OsString], path: Option<&OsStr>) -> Option<Error> {
    let file = executable::find(command.first()?, path)?;
    // A program that can be loaded at any address is one as well, and names its dynamic linker.
    let is_library = ElfFile::open(&file).is_ok_and(|elf| elf.interp.is_none());
    is_library.then(|| {
        let file = file.display();
        Error::usage(
            format!("{file} is a shared library and no command"),
            format!("write -t {file}, and each layer with a -t of its own"),
        )
    })
}

/// Says that nothing was asked for: easily overlooked where the options stand behind COMMAND.
fn no_tools(checked: &CheckedStack, args: &RunArgs) -> Option<Warning> {
    if checked.has_request {
        return None;
    }
    let option = args.command.windows(2).find(|pair| pair[0] == "-t" || pair[0] == "--tool");
    Some(match (option, &args.stack.config) {
        (Some(pair), _) => Warning::new(
            "no tools: what stands behind COMMAND belongs to COMMAND",
            format!("write the options first: qmpi run -t {} ...", pair[1].to_string_lossy()),
        ),
        (None, Some(file)) => Warning::new(
            format!("no tools: {} has no `stack`, and COMMAND runs without one", file.display()),
            "name tools with -t, or write there which are to run: stack = [\"NAME\"]",
        ),
        (None, None) => Warning::new("no tools: COMMAND runs without a stack", "name tools with -t, or a file with -c"),
    })
}

/// Says on stderr how often each function came to each layer, for `--stats`.
fn print_calls(directory: &Path) {
    match rank_file::read(directory) {
        Ok(ranks) => eprint!("{}", tables::call_table(&MeasuredJob::of(&ranks))),
        Err(error) => terminal::warn(&Warning::new(format!("no calls were counted: {error}"), error.hint())),
    }
}

fn become_command(command: &[OsString], variables: &[EnvironmentVariable]) -> Error {
    let Some((program, args)) = command.split_first() else {
        return LaunchError::CommandNotFound(String::new()).into();
    };
    let mut child = Command::new(program);
    child.args(args).envs(variables.iter().map(|variable| (variable.name, &variable.value)));
    LaunchError::of_start(program, child.exec()).into()
}

fn notes(checked: &CheckedStack, program: Option<&Program>, launcher: Option<&LauncherInCommand>, forward: &Forward) {
    for layer in &checked.layers {
        terminal::note(&format!("layer `{}`: {} {}", layer.label(), layer.kind(), layer.path().display()));
    }
    if let Some(program) = program {
        terminal::note(&format!("{} uses {} ({})", program.path.display(), program.mpi(), program.library));
    }
    let Some(launcher) = launcher else {
        return terminal::note(
            "variables reach other hosts if the launcher passes them on (`qmpi doctor -- LAUNCHER ...`)",
        );
    };
    let name = launcher.launcher.name();
    match (&forward.added, &forward.list) {
        (Some(added), _) => terminal::note(&format!("{name} is told to pass the variables on: {added}")),
        (None, Some(list)) => terminal::note(&format!("{name} is told to pass on {}", list.value)),
        (None, None) => {}
    }
}

fn dry_run(checked: &CheckedStack, variables: &[EnvironmentVariable], command: &[OsString]) -> String {
    let rows = checked.layers.iter().map(|layer| (layer.label(), layer.kind(), layer.path(), Vec::new()));
    let mut text = stack(&rows.collect::<Vec<_>>());
    let _ = writeln!(text, "{}", terminal::bold("variables"));
    for variable in variables {
        let _ = writeln!(text, "  {}={}", variable.name, quote_if_needed(&variable.value));
    }
    let words: Vec<String> = command.iter().map(|word| quote_if_needed(&word.to_string_lossy()).into_owned()).collect();
    let _ = writeln!(text, "{}\n  {}", terminal::bold("command"), words.join(" "));
    text
}
