//! One run of COMMAND under one side: in a directory of its own, and what it left there.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use qmpi_launch::command_line::CommandLine;
use qmpi_launch::rank_start::{self, RankStart};
use qmpi_launch::run_directory::{FileChanges, RunTemplate};
use qmpi_measured::MeasuredError;
use qmpi_measured::compare::Run;
use qmpi_measured::compare::RunFacts;
use qmpi_measured::ended::{self, Ended};
use qmpi_plan::variable;

use crate::Error;
use crate::args::CompareArgs;
use crate::side::Side;

/// Where runs happen: they all see the same path, one after the other.
const RUNNING: &str = "run";

/// How long a job that was told to end has to do so.
const GRACE: Duration = Duration::from_secs(10);

/// What all runs have in common.
#[derive(Debug)]
pub(crate) struct RunSetting<'a> {
    pub(crate) qmpi: PathBuf,
    pub(crate) command: &'a CommandLine,
    /// What is in the directories.
    pub(crate) template: &'a RunTemplate,
    /// Where everything goes.
    pub(crate) output: &'a Path,
    pub(crate) args: &'a CompareArgs,
}

impl RunSetting<'_> {
    /// The directory in which every run happens.
    pub(crate) fn running(&self) -> PathBuf {
        self.output.join(RUNNING)
    }

    /// Runs a side once; `traced`: with a record of all calls, beside which output does not count. `within`: when it is ended. Returns what the
    /// run left, and the directory with what it measured.
    pub(crate) fn run(
        &self,
        side: &Side,
        number: usize,
        traced: bool,
        within: Option<Duration>,
    ) -> Result<(Run, PathBuf), Error> {
        let name = format!("{}-{number}{}", side.facts.name, if traced { "-traced" } else { "" });
        let place = self.output.join(name);
        let fail = |error: io::Error| MeasuredError::report(&place, error);
        let running = self.running();
        if running.exists() {
            std::fs::remove_dir_all(&running).map_err(fail)?;
        }
        std::fs::create_dir_all(&place).map_err(fail)?;
        let before = self.template.fill(&running).map_err(fail)?;
        let measured = place.join("measured");
        let words = self.words(side, &place, traced.then_some(&*measured));
        let (program, args) = words.split_first().unwrap_or((&words[0], &[]));
        let mut command = std::process::Command::new(program);
        command.args(args).current_dir(&running).env("PWD", &running).stdin(Stdio::null());
        command.envs(side.variables.iter().copied());
        command.stdout(File::create(place.join("stdout")).map_err(fail)?);
        command.stderr(File::create(place.join("stderr")).map_err(fail)?);
        if side.options.is_none() {
            // A stack of the environment is not the native side's.
            for name in [variable::TOOL_LIST, variable::CONFIG, variable::THESIS_TOOLS] {
                command.env_remove(name);
            }
        }
        let began = Instant::now();
        let mut child = command.spawn().map_err(|source| Error::not_executable(program, source))?;
        let status = wait(&mut child, within).map_err(fail)?;
        let time = began.elapsed();
        let files = place.join("files");
        std::fs::rename(&running, &files).map_err(fail)?;
        let FileChanges { written, removed } = before.changes(&files).map_err(fail)?;
        let streams = streams(&place).map_err(fail)?;
        let (processes, hosts) = rank_start::processes_and_hosts(&place);
        let known = RunFacts { processes, hosts };
        Ok((Run { status, time, streams, files, written, removed, known }, measured))
    }

    fn words(&self, side: &Side, place: &Path, measured: Option<&Path>) -> Vec<OsString> {
        let (whole, traced) = (!self.command.separates_ranks(), measured.is_some());
        let start = RankStart { to: place.to_owned(), whole, traced, ..side.start.clone() };
        let command = self.command.with(&start.words(&self.qmpi));
        let options = match &side.options {
            Some(options) => options.clone(),
            // The tool is preloaded behind the runtime, with no stack: its edges are those of a layer.
            None if traced => vec!["-q".into()],
            None => return command,
        };
        let mut words: Vec<OsString> = vec![self.qmpi.clone().into(), "run".into()];
        words.extend(options);
        if let Some(directory) = measured {
            let mut option = OsString::from("--report=");
            option.push(directory);
            words.push(option);
            let buffers = if self.args.buffers { ",buffers" } else { "" };
            words.push(format!("--trace=first:{}{buffers}", self.args.calls).into());
        }
        words.push("--".into());
        words.extend(command);
        words
    }
}

/// Waits, and ends the job if it takes too long: the launcher ends its ranks.
fn wait(child: &mut Child, within: Option<Duration>) -> io::Result<Ended> {
    let mut is_told = false;
    ended::wait(child, within, |child, late| {
        if late > GRACE {
            return child.kill();
        }
        if !is_told {
            is_told = true;
            let process = rustix::process::Pid::from_child(child);
            // It may have ended in the meantime.
            let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
        }
        Ok(())
    })
}

fn streams(place: &Path) -> io::Result<BTreeMap<String, PathBuf>> {
    let mut streams = BTreeMap::new();
    for entry in std::fs::read_dir(place)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("stdout") || name.starts_with("stderr") {
            streams.insert(name, entry.path());
        }
    }
    Ok(streams)
}
