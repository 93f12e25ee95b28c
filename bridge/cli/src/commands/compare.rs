//! `qmpi compare`: runs both sides several times, compares what came of it, and says whether it is the same.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use crate::args::{CompareArgs, LoadArgs, MeasureArgs, StackArgs, VerbosityArgs};
use crate::compare::calls::{self, Recorded};
use crate::compare::command::Command;
use crate::compare::cost::{self, Cost};
use crate::compare::directory::Template;
use crate::compare::finding::{Finding, Kind, Varying};
use crate::compare::mask::Masks;
use crate::compare::output::Outputs;
use crate::compare::record::Tools;
use crate::compare::run::{Run, Setting};
use crate::compare::side::{self, Side};
use crate::compare::token::Pool;
use crate::ended::Ended;
use crate::launcher::program;
use crate::launcher::{self, executable};
use crate::plan;
use crate::report::compared;
use crate::report::terminal;
use crate::report::warning::Warning;
use crate::{Error, SCHEMA};

/// What makes a directory one of an earlier comparison, which may be removed.
const MARK: &str = "compare.json";

/// The new side may take so many times as long as the old one's longest run, and a minute more.
const PATIENCE: u32 = 10;

/// The answer.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// Version of the answer.
    pub schema: u32,
    /// `same` or `different`.
    pub verdict: &'static str,
    /// The sides.
    pub sides: Vec<About>,
    /// What differs.
    pub findings: Vec<Finding>,
    /// What varies by itself.
    pub varying: Varying,
    /// What calls cost.
    pub costs: Vec<Cost>,
    /// From which ratio on a cost is a finding.
    pub slower: f64,
    /// What could not be compared.
    pub notes: Vec<String>,
    /// Where everything is that was written.
    pub directory: PathBuf,
}

/// A side.
#[derive(Debug, Serialize)]
pub struct About {
    /// Its name.
    pub name: &'static str,
    /// What it is made of.
    pub what: String,
    /// How many runs there were whose output counts, and as many whose calls were recorded.
    pub runs: usize,
    /// Seconds of each run whose output counts.
    pub seconds: Vec<f64>,
}

/// The runs of one side.
#[derive(Default)]
struct Runs {
    plain: Vec<Run>,
    recorded: Vec<Recorded>,
    traced: Vec<Run>,
}

impl Runs {
    fn all(&self) -> impl Iterator<Item = &Run> {
        self.plain.iter().chain(&self.traced)
    }
}

/// Compares. Returns whether both sides are the same.
///
/// # Errors
/// Usage, and runs that could not be made.
pub fn compare(args: &CompareArgs) -> Result<bool, Error> {
    let get = |name: &str| std::env::var_os(name);
    let here = std::env::current_dir().map_err(|error| directory(Path::new("."), &error))?;
    let first = args.command.first().cloned().unwrap_or_default();
    if !executable::exists(&first, get("PATH").as_deref()) {
        return Err(Error::CommandNotFound { command: first.to_string_lossy().into_owned() });
    }
    let sides = side::both(args, &get)?;
    for side in &sides {
        check(side, &args.command, &get)?;
    }
    let output = std::path::absolute(&args.output).map_err(|error| directory(&args.output, &error))?;
    clear(&output)?;
    let command = Command::of(&args.command, &here, &get);
    let template = Template::of(&here, &output).map_err(|error| directory(&here, &error))?;
    let qmpi = std::env::current_exe().map_err(|error| directory(Path::new("qmpi"), &error))?;
    let setting = Setting {
        qmpi,
        command: &command,
        template: &template,
        output: &output,
        calls: args.calls,
        buffers: args.buffers,
    };
    let users: Vec<String> = args.mask.iter().chain(sides.iter().flat_map(|side| &side.masks)).cloned().collect();
    let running = setting.running();
    let paths = masked_paths(&running, &sides);
    let paths: Vec<(&Path, &'static str)> = paths.iter().map(|(path, mask)| (path.as_path(), *mask)).collect();
    let masks = Masks::new(&users, &paths)?;
    let (mut runs, mut pool) = ([Runs::default(), Runs::default()], Pool::default());
    let tools = tools(&sides, args);
    round(&setting, &sides, &tools, &mut runs, &mut pool, args)?;
    have_ended_well(&sides, &runs)?;
    let mut answer = judge(&sides, &runs, &masks, args, &output);
    if !answer.findings.is_empty() {
        // What differs in a few runs by chance hardly does so in twice as many.
        round(&setting, &sides, &tools, &mut runs, &mut pool, args)?;
        answer = judge(&sides, &runs, &masks, args, &output);
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
    let json = serde_json::to_string_pretty(&answer).map_err(|error| Error::Output(error.into()))?;
    std::fs::write(output.join(MARK), &json).map_err(|error| directory(&output, &error))?;
    if let Some(path) = &args.html {
        let written = compared::html(&answer).map_err(io::Error::other).and_then(|page| std::fs::write(path, page));
        written.map_err(|error| directory(path, &error))?;
    }
    if args.json {
        terminal::answer(&(json + "\n"))?;
    } else {
        terminal::answer(&compared::text(&answer, args.all))?;
    }
    Ok(answer.findings.is_empty())
}

/// Runs that do not end well say nothing of the tools, though they may all be the same.
///
/// # Errors
/// [`Error::NoRun`].
fn have_ended_well(sides: &[Side; 2], runs: &[Runs; 2]) -> Result<(), Error> {
    let is_failing = |runs: &&Runs| runs.all().all(|run| run.status != Ended::Exited(0));
    let failing = sides.iter().zip(runs).find(|(_, runs)| is_failing(runs));
    if let Some((side, of_side)) = failing
        && let Some(first) = of_side.plain.first()
    {
        let all = runs.iter().all(|runs| is_failing(&runs));
        let of_side = format!("of the {} side ({}) ", side.name, side.what);
        let which = if all { String::new() } else { of_side };
        return Err(Error::NoRun { which, status: first.status.to_string(), said: said(first) });
    }
    Ok(())
}

/// Nor do runs that come to no call of MPI and in which nothing differs.
///
/// # Errors
/// [`Error::NoCalls`].
fn have_called_mpi(sides: &[Side; 2], runs: &[Runs; 2]) -> Result<(), Error> {
    let is_silent = |runs: &Runs| runs.recorded.iter().all(|recorded| !recorded.has_calls);
    // A program in Fortran may come to MPI past a native tool, which is a difference; a side that has left nothing has no calls at all.
    let has_left = |runs: &Runs| runs.recorded.iter().any(|recorded| !recorded.ranks.is_empty());
    let is_mute = |runs: &&Runs| is_silent(runs) && !has_left(runs);
    let of_both = || runs.iter().all(is_silent).then_some(String::new());
    let mute = sides.iter().zip(runs).find(|(_, runs)| is_mute(runs));
    let of_one = || mute.map(|(side, _)| format!(" on the {} side ({})", side.name, side.what));
    of_both().or_else(of_one).map_or(Ok(()), |which| Err(Error::NoCalls { which }))
}

/// The first line that a run printed on stderr.
fn said(run: &Run) -> String {
    let streams = run.streams.iter().filter(|(name, _)| name.starts_with("stderr"));
    let text = streams.filter_map(|(_, path)| std::fs::read_to_string(path).ok()).find(|text| !text.trim().is_empty());
    let line = text.as_deref().unwrap_or_default().lines().find(|line| line.chars().any(char::is_alphanumeric));
    line.unwrap_or_default().trim().to_owned()
}

/// What `qmpi run` would refuse is refused before anything is run; what it warns of is said once.
fn check(side: &Side, command: &[OsString], get: &dyn Fn(&str) -> Option<OsString>) -> Result<(), Error> {
    let verbosity = VerbosityArgs::default();
    let stack = StackArgs { command: command.to_vec(), ..side.stack.clone() };
    let mut plan = plan::make(&stack, verbosity, &MeasureArgs::default(), LoadArgs::default(), get)?;
    let path = get("PATH");
    let survey = program::find(command, path.as_deref(), &plan.search)?;
    if let Some(program) = &survey.program {
        plan.check_program(program)?;
    }
    plan.check_mpis()?;
    plan.check_shares(survey.program.as_ref(), command, get)?;
    if let (Some(found), Some(program)) = (launcher::find(command, path.as_deref()), &survey.program) {
        plan.check_launcher(&found, command, program)?;
    }
    Warning::print_all(plan.warnings.iter().chain(&survey.warnings), get);
    Ok(())
}

/// What has to be known of the tools to tell their calls from the program's.
fn tools(sides: &[Side; 2], args: &CompareArgs) -> [Tools; 2] {
    let without_fortran = args.native && sides.iter().any(|side| !side.fortran.is_empty());
    sides.each_ref().map(|side| Tools { files: side.objects(), without_fortran })
}

/// Runs both sides a number of times in turns; which one is first changes.
fn round(
    setting: &Setting<'_>,
    sides: &[Side; 2],
    tools: &[Tools; 2],
    runs: &mut [Runs; 2],
    pool: &mut Pool,
    args: &CompareArgs,
) -> Result<(), Error> {
    let done = runs[0].plain.len();
    let wanted = args.runs as usize;
    for number in done..done + wanted {
        for traced in [false, true] {
            let order = if number % 2 == 0 { [0, 1] } else { [1, 0] };
            for place in order {
                let within = limit(args, &runs[0], place, traced);
                let count = 4 * (number - done) + 2 * usize::from(traced) + usize::from(place != order[0]) + 1;
                progress(&format!("run {count} of {}: {}", 4 * wanted, sides[place].what));
                let run = setting.run(&sides[place], number + 1, traced, within)?;
                if traced {
                    runs[place].recorded.push(Recorded::of(&run, &tools[place], pool));
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
fn limit(args: &CompareArgs, old: &Runs, place: usize, traced: bool) -> Option<Duration> {
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

fn judge(sides: &[Side; 2], runs: &[Runs; 2], masks: &Masks, args: &CompareArgs, output: &Path) -> Answer {
    let names = [sides[0].name, sides[1].name];
    let mut varying = Varying::new();
    let mut notes = Vec::new();
    let plain = [&*runs[0].plain, &*runs[1].plain];
    let recorded = [&*runs[0].recorded, &*runs[1].recorded];
    let mut outputs = Outputs { names, masks, varying: &mut varying };
    let mut findings = outputs.status(runs.each_ref().map(|runs| runs.all().collect()));
    findings.extend(outputs.streams(plain));
    findings.extend(outputs.files(plain));
    findings.extend(calls::wrappers(recorded, names, sides.each_ref().map(|side| &side.fortran)));
    findings.extend(calls::compare(recorded, names, &mut varying));
    let costs = cost::costs(recorded, args.slower);
    match sides.iter().find_map(|side| side.with_threads.as_ref()) {
        // By the clock, which is all that is measured, it has in it what a call waits for them.
        Some(tool) => {
            let why = format!("all of it, as {tool} starts threads");
            varying.entry(Kind::Cost.title().to_owned()).or_default().push(why);
        }
        None => findings.extend(cost::findings(&costs, args.slower, names)),
    }
    findings.sort_by_key(|finding| finding.kind);
    for (side, runs) in sides.iter().zip(runs) {
        let silent = runs.recorded.iter().filter(|recorded| recorded.ranks.is_empty()).count();
        if silent > 0 {
            let all = runs.recorded.len();
            notes.push(format!("{}: no calls of MPI were recorded in {silent} of {all} runs", side.name));
        }
    }
    if recorded.iter().any(|runs| runs.iter().any(|recorded| recorded.has_fortran)) {
        notes.push(
            "the tool has wrappers in Fortran, which the program's calls in Fortran come to unseen: these calls are not compared one by one"
                .to_owned(),
        );
    }
    let about = |(side, runs): (&Side, &Runs)| About {
        name: side.name,
        what: side.what.clone(),
        runs: runs.plain.len(),
        seconds: runs.plain.iter().map(|run| run.time.as_secs_f64()).collect(),
    };
    Answer {
        schema: SCHEMA,
        verdict: if findings.is_empty() { "same" } else { "different" },
        sides: sides.iter().zip(runs).map(about).collect(),
        findings,
        varying,
        costs,
        slower: args.slower,
        notes,
        directory: output.to_owned(),
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
        return Err(Error::Usage {
            message: format!("{} is there, and no earlier comparison", output.display()),
            hint: "name another directory with --output".to_owned(),
        });
    }
    if is_earlier {
        std::fs::remove_dir_all(output).map_err(|error| directory(output, &error))?;
    }
    std::fs::create_dir_all(output).map_err(|error| directory(output, &error))?;
    // What is not finished may be removed as well.
    std::fs::write(output.join(MARK), "{}\n").map_err(|error| directory(output, &error))
}

fn directory(path: &Path, error: &std::io::Error) -> Error {
    Error::Report { path: path.to_owned(), problem: error.to_string() }
}
