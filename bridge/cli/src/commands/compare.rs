//! `qmpi compare`: runs both sides several times, compares what came of it, and says whether it is the same.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

use qmpi_launch::command_line::CommandLine;
use qmpi_launch::environment::of_process;
use qmpi_launch::executable;
use qmpi_launch::run_directory::RunTemplate;
use qmpi_measured::MeasuredError;
use qmpi_measured::compare::{Comparison, Masks, Pool, Recorded, Run, SideRuns, ToolsOfSide, page, text};
use qmpi_measured::ended::Ended;

use crate::args::CompareArgs;
use crate::side::{self, Side};
use crate::side_run::RunSetting;
use crate::{Error, LaunchError, terminal};

/// What makes a directory one of an earlier comparison, which may be removed.
const MARK: &str = "compare.json";

/// The new side may take so many times as long as the old one's longest run, and a minute more.
const PATIENCE: u32 = 10;

/// Compares. Returns whether both sides are the same.
pub(crate) fn compare(args: &CompareArgs) -> Result<bool, Error> {
    let here = std::env::current_dir().map_err(|error| MeasuredError::report(Path::new("."), error))?;
    let first = args.command.first().cloned().unwrap_or_default();
    if !executable::exists(&first, std::env::var_os("PATH").as_deref()) {
        return Err(LaunchError::CommandNotFound(first.to_string_lossy().into_owned()).into());
    }
    let sides = side::both(args)?;
    let facts = sides.each_ref().map(|side| &side.facts);
    let output = std::path::absolute(&args.output).map_err(|error| MeasuredError::report(&args.output, error))?;
    clear(&output)?;
    let command = CommandLine::of(&args.command, &here, &of_process);
    let template = RunTemplate::of(&here, &output).map_err(|error| MeasuredError::report(&here, error))?;
    let qmpi = std::env::current_exe().map_err(|error| MeasuredError::report(Path::new("qmpi"), error))?;
    let setting = RunSetting { qmpi, command: &command, template: &template, output: &output, args };
    let users: Vec<String> = args.mask.iter().chain(sides.iter().flat_map(|side| &side.masks)).cloned().collect();
    let running = setting.running();
    let paths = masked_paths(&running, &sides);
    let paths: Vec<(&Path, &'static str)> = paths.iter().map(|(path, mask)| (path.as_path(), *mask)).collect();
    let masks = Masks::new(&users, &paths)?;
    let (mut runs, mut pool) = ([SideRuns::default(), SideRuns::default()], Pool::default());
    // What has to be known of the tools to tell their calls from the program's.
    let without_fortran = args.native && sides.iter().any(|side| !side.facts.fortran.is_empty());
    let tools = sides.each_ref().map(|side| ToolsOfSide { files: side.objects(), without_fortran });
    round(&setting, &sides, &tools, &mut runs, &mut pool)?;
    have_ended_well(&sides, &runs)?;
    let mut answer = Comparison::of(facts, &runs, &masks, args.slower, &output);
    if !answer.findings.is_empty() {
        // What differs in a few runs by chance hardly does so in twice as many.
        round(&setting, &sides, &tools, &mut runs, &mut pool)?;
        answer = Comparison::of(facts, &runs, &masks, args.slower, &output);
    }
    if answer.findings.is_empty() {
        have_called_mpi(&sides, &runs)?;
    }
    if template.is_large {
        answer.notes.push(
            "the current directory has much in it: runs see it through links, and what they change inside of its directories is not compared".to_owned(),
        );
    }
    let _ = std::fs::remove_dir_all(&running);
    let json = terminal::versioned(&answer)?;
    std::fs::write(output.join(MARK), &json).map_err(|error| MeasuredError::report(&output, error))?;
    if let Some(path) = &args.html {
        let written = page::html(&answer).map_err(io::Error::other).and_then(|page| std::fs::write(path, page));
        written.map_err(|error| MeasuredError::report(path, error))?;
    }
    terminal::answer(&if args.json { json } else { text::text(&answer, args.all) })?;
    Ok(answer.findings.is_empty())
}

/// Runs that do not end well say nothing of the tools, though they may all be the same.
fn have_ended_well(sides: &[Side; 2], runs: &[SideRuns; 2]) -> Result<(), Error> {
    let is_failing = |runs: &&SideRuns| runs.all().all(|run| run.status != Ended::Exited(0));
    let failing = sides.iter().zip(runs).find(|(_, runs)| is_failing(runs));
    if let Some((side, of_side)) = failing
        && let Some(first) = of_side.plain.first()
    {
        let all = runs.iter().all(|runs| is_failing(&runs));
        let of_side = format!("of the {} side ({}) ", side.facts.name, side.facts.what);
        let which = if all { String::new() } else { of_side };
        let said = said(first);
        let said = if said.is_empty() { said } else { format!(": {said}") };
        return Err(Error::failed(
            format!("no run {which}ended well: {}{said}", first.status),
            "run COMMAND alone, and with the tools of this side; what it printed is in the directories of the runs",
        ));
    }
    Ok(())
}

/// Nor do runs that come to no call of MPI and in which nothing differs.
fn have_called_mpi(sides: &[Side; 2], runs: &[SideRuns; 2]) -> Result<(), Error> {
    let is_silent = |runs: &SideRuns| runs.recorded.iter().all(|recorded| !recorded.has_calls);
    // A program in Fortran may come to MPI past a native tool, which is a difference; a side that has left nothing has no calls at all.
    let has_left = |runs: &SideRuns| runs.recorded.iter().any(|recorded| !recorded.ranks.is_empty());
    let is_mute = |runs: &&SideRuns| is_silent(runs) && !has_left(runs);
    let of_both = || runs.iter().all(is_silent).then_some(String::new());
    let mute = sides.iter().zip(runs).find(|(_, runs)| is_mute(runs));
    let of_one = || mute.map(|(side, _)| format!(" on the {} side ({})", side.facts.name, side.facts.what));
    let Some(which) = of_both().or_else(of_one) else { return Ok(()) };
    let hint = "is COMMAND a program that calls MPI? `qmpi inspect PROGRAM` says what it is";
    Err(Error::failed(format!("no call of MPI was recorded{which}: there is nothing to compare"), hint))
}

/// The first line that a run printed on stderr.
fn said(run: &Run) -> String {
    let streams = run.streams.iter().filter(|(name, _)| name.starts_with("stderr"));
    let text = streams.filter_map(|(_, path)| std::fs::read_to_string(path).ok()).find(|text| !text.trim().is_empty());
    let line = text.as_deref().unwrap_or_default().lines().find(|line| line.chars().any(char::is_alphanumeric));
    line.unwrap_or_default().trim().to_owned()
}

/// Runs both sides a number of times in turns; which one is first changes.
fn round(
    setting: &RunSetting<'_>,
    sides: &[Side; 2],
    tools: &[ToolsOfSide; 2],
    runs: &mut [SideRuns; 2],
    pool: &mut Pool,
) -> Result<(), Error> {
    let done = runs[0].plain.len();
    let wanted = setting.args.runs as usize;
    for number in done..done + wanted {
        for traced in [false, true] {
            let order = if number % 2 == 0 { [0, 1] } else { [1, 0] };
            for place in order {
                let within = limit(setting.args, &runs[0], place, traced);
                let count = 4 * (number - done) + 2 * usize::from(traced) + usize::from(place != order[0]) + 1;
                progress(&format!("run {count} of {}: {}", 4 * wanted, sides[place].facts.what));
                let (run, measured) = setting.run(&sides[place], number + 1, traced, within)?;
                if traced {
                    runs[place].recorded.push(Recorded::of(&measured, &tools[place], pool));
                    runs[place].traced.push(run);
                } else {
                    runs[place].plain.push(run);
                }
            }
        }
    }
    progress("");
    Ok(())
}

/// How long a run may take: what the user says; else a multiple of the old side's, which is not limited itself.
fn limit(args: &CompareArgs, old: &SideRuns, place: usize, traced: bool) -> Option<Duration> {
    if let Some(seconds) = args.timeout {
        return Some(Duration::from_secs(seconds));
    }
    let runs = if traced && !old.traced.is_empty() { &old.traced } else { &old.plain };
    let longest = runs.iter().map(|run| run.time).max()?;
    (place == 1).then(|| PATIENCE * longest + Duration::from_secs(60))
}

fn progress(text: &str) {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K{text}");
    }
}

/// Paths that runs have in what they print: their directory, and the tools.
fn masked_paths(running: &Path, sides: &[Side; 2]) -> Vec<(PathBuf, &'static str)> {
    let mut paths = vec![(running.to_owned(), "<directory>")];
    paths.extend(running.canonicalize().ok().map(|path| (path, "<directory>")));
    let files = || sides.iter().flat_map(|side| &side.files).filter(|path| path.is_absolute());
    paths.extend(files().map(|path| (path.clone(), "<tool>")));
    // Where the sides have different files, a tool that says its own name says another one.
    let [old, new] = sides.each_ref().map(|side| &side.files);
    if old != new {
        let names = files().filter_map(|path| path.file_name()).map(PathBuf::from);
        paths.extend(names.map(|name| (name, "<tool>")));
    }
    paths
}

/// An earlier comparison goes; what is something else stays.
fn clear(output: &Path) -> Result<(), Error> {
    let is_earlier = output.join(MARK).is_file();
    let is_empty = || std::fs::read_dir(output).is_ok_and(|mut entries| entries.next().is_none());
    if output.exists() && !is_earlier && !is_empty() {
        let message = format!("{} is there, and no earlier comparison", output.display());
        return Err(Error::usage(message, "name another directory with --output"));
    }
    if is_earlier {
        std::fs::remove_dir_all(output).map_err(|error| MeasuredError::report(output, error))?;
    }
    std::fs::create_dir_all(output).map_err(|error| MeasuredError::report(output, error))?;
    // What is not finished may be removed as well.
    Ok(std::fs::write(output.join(MARK), "{}\n").map_err(|error| MeasuredError::report(output, error))?)
}
