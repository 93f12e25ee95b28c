//! One run of COMMAND under one side: in a directory of its own, and what it left there.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use qmpi_plan::variable;

use crate::Error;
use crate::compare::command::Command;
use crate::compare::directory::{Changes, Template};
use crate::compare::mask::Known;
use crate::compare::rank::{self, Start};
use crate::compare::side::{Kind, Side};
use crate::ended::{self, Ended};

/// Where runs happen: they all see the same path, one after the other.
const RUNNING: &str = "run";

/// How long a job that was told to end has to do so.
const GRACE: Duration = Duration::from_secs(10);

/// What all runs have in common.
#[derive(Debug)]
pub struct Setting<'a> {
    /// This command.
    pub qmpi: PathBuf,
    /// COMMAND.
    pub command: &'a Command,
    /// What is in the directories.
    pub template: &'a Template,
    /// Where everything goes.
    pub output: &'a Path,
    /// How many calls of each thread are recorded at each layer.
    pub calls: u32,
    /// Whether it is recorded what is in buffers.
    pub buffers: bool,
}

/// What a run left.
#[derive(Debug, Clone)]
pub struct Run {
    /// How it ended.
    pub status: Ended,
    /// How long it took.
    pub time: Duration,
    /// Output, by name: `stdout.0` of rank 0; `stdout` of the launcher, or of a COMMAND in which ranks cannot be told apart.
    pub streams: BTreeMap<String, PathBuf>,
    /// The directory in which it ran, where it is now.
    pub files: PathBuf,
    /// What it changed there.
    pub changes: Changes,
    /// What is known of its processes.
    pub known: Known,
    /// What it measured, if it was traced.
    pub measured: PathBuf,
}

impl Setting<'_> {
    /// The directory in which every run happens.
    #[must_use]
    pub fn running(&self) -> PathBuf {
        self.output.join(RUNNING)
    }

    /// Runs a side once; `traced`: with a record of all calls, beside which output does not count. `within`: when it is ended.
    ///
    /// # Errors
    /// What keeps it from being started, and directories that cannot be written.
    pub fn run(&self, side: &Side, number: usize, traced: bool, within: Option<Duration>) -> Result<Run, Error> {
        let name = format!("{}-{number}{}", side.name, if traced { "-traced" } else { "" });
        let place = self.output.join(name);
        let fail = |error: io::Error| Error::Report { path: place.clone(), problem: error.to_string() };
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
        command.stdout(File::create(place.join("stdout")).map_err(fail)?);
        command.stderr(File::create(place.join("stderr")).map_err(fail)?);
        if let Kind::Native { .. } = side.kind {
            // A stack of the environment is not the native side's.
            for name in [variable::TOOL_LIST, variable::CONFIG, variable::THESIS_TOOLS] {
                command.env_remove(name);
            }
        }
        let began = Instant::now();
        let source = |source| Error::CommandNotExecutable { command: program.to_string_lossy().into_owned(), source };
        let mut child = command.spawn().map_err(source)?;
        let status = wait(&mut child, within).map_err(fail)?;
        let time = began.elapsed();
        let files = place.join("files");
        std::fs::rename(&running, &files).map_err(fail)?;
        let changes = before.changes(&files).map_err(fail)?;
        let streams = streams(&place).map_err(fail)?;
        Ok(Run { status, time, streams, files, changes, known: rank::known(&place), measured })
    }

    fn words(&self, side: &Side, place: &Path, measured: Option<&Path>) -> Vec<OsString> {
        let whole = !self.command.separates_ranks();
        let mut start = Start { to: place.to_owned(), whole, traced: measured.is_some(), ..Start::default() };
        if let Kind::Native { libraries, variables } = &side.kind {
            start.preload.clone_from(libraries);
            start.variables.clone_from(variables);
        }
        let command = self.command.with(&start.words(&self.qmpi));
        let options = match &side.kind {
            Kind::Native { .. } if measured.is_none() => return command,
            // The tool is preloaded behind the runtime, with no stack: its edges are those of a layer.
            Kind::Native { .. } => vec!["-q".into()],
            Kind::Stack(options) => options.clone(),
        };
        let mut words: Vec<OsString> = vec![self.qmpi.clone().into(), "run".into()];
        words.extend(options);
        if let Some(directory) = measured {
            let mut option = OsString::from("--report=");
            option.push(directory);
            words.push(option);
            let buffers = if self.buffers { ",buffers" } else { "" };
            words.push(format!("--trace=first:{}{buffers}", self.calls).into());
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
