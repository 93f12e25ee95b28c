//! `qmpi run`: check everything, set the environment, see that a launcher passes it on, become COMMAND, or stay its parent (`--mpir`).

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use qmpi_elf::ElfFile;
use qmpi_plan::launcher::Line;

use crate::Error;
use crate::args::RunArgs;
use crate::commands::ps;
use crate::environment::Variable;
use crate::launcher::executable;
use crate::launcher::forward::{self, Forward};
use crate::launcher::program::{self, Program};
use crate::launcher::{self, Found};
use crate::measured::job::Job;
use crate::measured::rank_file;
use crate::mpir::child;
use crate::mpir::hosts;
use crate::mpir::starter::{self, Reception};
use crate::mpir::table::Process;
use crate::plan::{self, Plan};
use crate::report::container;
use crate::report::measured;
use crate::report::shell::quote_if_needed;
use crate::report::terminal::{self, Style};
use crate::report::warning::Warning;

/// Runs COMMAND in place of this process; returns only for `--dry-run` and errors.
///
/// # Errors
/// Whatever stops the stack, and a COMMAND that cannot be started.
pub fn run(args: &RunArgs) -> Result<(), Error> {
    let get = |name: &str| std::env::var_os(name);
    let mut plan = plan::make(&args.stack, args.verbosity, &args.measure, args.load, &get)?;
    let first = args.command.first().cloned().unwrap_or_default();
    let path = get("PATH");
    if !executable::exists(&first, path.as_deref()) {
        let command = first.to_string_lossy().into_owned();
        return Err(Error::CommandNotFound { command });
    }
    if let Some(library) = library(&args.command, path.as_deref()) {
        return Err(library);
    }
    let survey = program::find(&args.command, path.as_deref(), &plan.search)?;
    if let Some(program) = &survey.program {
        plan.check_program(program)?;
    }
    plan.check_mpis()?;
    plan.check_shares(survey.program.as_ref(), &args.command, &get)?;
    plan.check_registered(&get)?;
    let found = launcher::find(&args.command, path.as_deref());
    if let (Some(found), Some(program)) = (&found, &survey.program) {
        plan.check_launcher(found, &args.command, program)?;
    }
    let reception = if args.mpir && !args.dry_run { Some(reception(args, found.as_ref(), &get)?) } else { None };
    if let Some(reception) = &reception {
        plan.variables.push(reception.variable()?);
    }
    let forward = match &found {
        Some(found) => forward::forward(&args.command, found, &plan.variables, &get),
        None => Forward { command: args.command.clone(), ..Forward::default() },
    };
    if !args.verbosity.quiet {
        let is_quiet = args.dry_run || args.measure.directory().is_some();
        let no_tools = if is_quiet { None } else { no_tools(&plan, args) };
        let container = if plan.has_request { container::warning(&plan, &args.command, &get) } else { None };
        Warning::print_all(
            no_tools.iter().chain(&container).chain(&plan.warnings).chain(&survey.warnings).chain(&forward.warnings),
            &get,
        );
    }
    if args.verbosity.verbose > 0 {
        notes(&plan, survey.program.as_ref(), found.as_ref(), &forward);
    }
    let Forward { command, list, .. } = forward;
    plan.variables.extend(list);
    if args.dry_run {
        return terminal::answer(&dry_run(&plan, &command, Style::stdout()));
    }
    prepare_report(args, &get)?;
    let is_started_here = qmpi_plan::rank_from_env(&get).is_none();
    if let Some(directory) =
        args.measure.directory().filter(|_| args.measure.stats && is_started_here && reception.is_none())
    {
        let status = child::run(&command, &plan.variables)?;
        print_calls(&directory);
        child::end_as(status);
    }
    let Some(reception) = reception else { return Err(become_command(&command, &plan.variables)) };
    let mut on_table = |processes: &[&Process]| {
        if let Some(json) = args.prints_table {
            ps::print_started(processes, json);
        }
    };
    let job = starter::Job { command: &command, variables: plan.variables, on_table: &mut on_table };
    match starter::run(job, reception)? {}
}

/// Where ranks report: over the network, too, if they may be on other hosts.
fn reception(
    args: &RunArgs,
    found: Option<&Found>,
    get: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Reception, Error> {
    let words: Vec<String> = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let line = found.map(|found| Line {
        launcher: found.launcher,
        args: words.get(found.index + 1..).unwrap_or_default(),
        get,
    });
    Reception::open(&hosts::addresses(&hosts::of_job(line.as_ref(), get)))
}

/// A COMMAND that is a tool: the option was forgotten.
fn library(command: &[OsString], path: Option<&OsStr>) -> Option<Error> {
    let file = executable::find(command.first()?, path)?;
    // A program that can be loaded at any address is one as well, and names its dynamic linker.
    let is_library = ElfFile::open(&file).is_ok_and(|elf| elf.interp().is_none());
    is_library.then(|| Error::Usage {
        message: format!("{} is a shared library and no command", file.display()),
        hint: format!("write -t {}, and each layer with a -t of its own", file.display()),
    })
}

/// Says that nothing was asked for: easily overlooked where the options stand behind COMMAND.
fn no_tools(plan: &Plan, args: &RunArgs) -> Option<Warning> {
    if plan.has_request {
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

/// Files of an earlier job go, unless this is a rank itself: then others may have written theirs.
fn prepare_report(args: &RunArgs, get: &dyn Fn(&str) -> Option<OsString>) -> Result<(), Error> {
    let Some(directory) = &args.measure.directory() else { return Ok(()) };
    if qmpi_plan::rank_from_env(get).is_none() { rank_file::clear(directory) } else { Ok(()) }
}

/// Says on stderr how often each function came to each layer, for `--stats`.
fn print_calls(directory: &Path) {
    match rank_file::read(directory) {
        Ok(ranks) => eprint!("{}", measured::call_table(&Job::of(&ranks))),
        Err(error) => terminal::warn(&format!("no calls were counted: {error}"), Some(&error.hint())),
    }
}

fn become_command(command: &[OsString], variables: &[Variable]) -> Error {
    let Some((program, args)) = command.split_first() else {
        return Error::CommandNotFound { command: String::new() };
    };
    let mut process = Command::new(program);
    process.args(args).envs(variables.iter().map(|variable| (variable.name, &variable.value)));
    child::not_started(program, process.exec())
}

fn notes(plan: &Plan, program: Option<&Program>, launcher: Option<&Found>, forward: &Forward) {
    for layer in &plan.layers {
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

fn dry_run(plan: &Plan, command: &[OsString], style: Style) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}", style.bold("stack (outermost first)"));
    if plan.layers.is_empty() {
        let _ = writeln!(text, "  no tools");
    }
    let width = plan.layers.iter().map(|layer| layer.label().len()).max().unwrap_or(0);
    for (tool_id, layer) in (1..).zip(&plan.layers) {
        let path = layer.path().display();
        let _ = writeln!(text, "  {:>2}  {:width$}  {:<6}  {path}", tool_id, layer.label(), layer.kind());
    }
    let _ = writeln!(text, "{}", style.bold("variables"));
    for variable in &plan.variables {
        let _ = writeln!(text, "  {}={}", variable.name, quote_if_needed(&variable.value));
    }
    let words: Vec<String> = command.iter().map(|word| quote_if_needed(&word.to_string_lossy()).into_owned()).collect();
    let _ = writeln!(text, "{}\n  {}", style.bold("command"), words.join(" "));
    text
}
