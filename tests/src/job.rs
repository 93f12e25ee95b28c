//! An MPI job, with or without a stack, and what came of it.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::{Mpi, child, product};

/// Seconds after which a job counts as hung, unless it says otherwise.
const PATIENCE: u32 = 120;

/// The status of a job that was ended for that: timeout(1)'s.
pub const HUNG: i32 = 124;

/// A job to run.
#[derive(Debug, Clone)]
pub struct Job {
    mpi: Option<Mpi>,
    ranks: usize,
    program: PathBuf,
    args: Vec<String>,
    env: Vec<(String, String)>,
    preload: Vec<PathBuf>,
    /// Options of `qmpi run`, if it is used.
    run: Option<Vec<String>>,
    patience: u32,
    /// The command line that the rest is handed to, if any.
    wrapper: Vec<String>,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// As printed.
    pub stdout: String,
    /// As printed.
    pub stderr: String,
    /// Exit status; for a signal 128 and its number, as shells have it.
    pub status: i32,
    /// The command line, for messages.
    pub command: String,
    /// Processor time of all its processes that were waited for.
    pub cpu: Duration,
}

impl Job {
    /// `ranks` processes of `program`.
    pub fn new(mpi: Mpi, ranks: usize, program: &Path) -> Job {
        Job {
            mpi: Some(mpi),
            ranks,
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            preload: Vec::new(),
            run: None,
            patience: PATIENCE,
            wrapper: Vec::new(),
        }
    }

    /// One process without a launcher.
    pub fn alone(mpi: Mpi, program: &Path) -> Job {
        Job { ranks: 0, ..Job::new(mpi, 1, program) }
    }

    /// With these arguments.
    #[must_use]
    pub fn args(mut self, args: &[String]) -> Job {
        self.args.extend_from_slice(args);
        self
    }

    /// With this variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<String>) -> Job {
        self.env.push((name.into(), value.into()));
        self
    }

    /// With this library preloaded in each rank, and nothing of ours.
    #[must_use]
    pub fn preload(mut self, library: &Path) -> Job {
        self.preload.push(library.into());
        self
    }

    /// Counts as hung after that many seconds; the status is then [`HUNG`].
    #[must_use]
    pub fn within(mut self, seconds: u32) -> Job {
        self.patience = seconds;
        self
    }

    /// All of it, `qmpi run` and the launcher included, as the last words of this command line (`strace -f ...`).
    #[must_use]
    pub fn inside(mut self, wrapper: &[&str]) -> Job {
        self.wrapper.extend(wrapper.iter().map(|word| (*word).to_owned()));
        self
    }

    /// Under `qmpi run` with these tools, outermost first.
    #[must_use]
    pub fn stack(mut self, tools: &[&str]) -> Job {
        self.run = Some(tools.iter().flat_map(|tool| ["-t".to_owned(), (*tool).to_owned()]).collect());
        self
    }

    /// Under `qmpi run` with this configuration file.
    #[must_use]
    pub fn config(mut self, file: &Path) -> Job {
        self.run = Some(vec!["-c".into(), file.display().to_string()]);
        self
    }

    /// With this option of `qmpi run`.
    #[must_use]
    pub fn option(mut self, option: &str) -> Job {
        self.run.get_or_insert_default().push(option.into());
        self
    }

    /// With the variables set by hand instead: the runtime preloaded in each rank, and this list of tools.
    #[must_use]
    pub fn by_hand(self, list: &str) -> Job {
        self.preload(&product::runtime()).env("QMPI_TOOL_LIST", list)
    }

    /// Runs it.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn run(&self) -> Outcome {
        let mut words: Vec<String> = ["timeout", "-k", "5", &self.patience.to_string()].map(str::to_owned).to_vec();
        words.extend(self.wrapper.iter().cloned());
        if let Some(options) = &self.run {
            words.extend([product::command().display().to_string(), "run".into()]);
            words.extend(options.iter().cloned());
            words.push("--".into());
        }
        if let Some(mpi) = self.mpi.filter(|_| self.ranks > 0) {
            words.extend(mpi.launcher(self.ranks));
        }
        if !self.preload.is_empty() {
            // Of the ranks only, not of the launcher.
            let list: Vec<String> = self.preload.iter().map(|path| path.display().to_string()).collect();
            words.extend(["env".into(), format!("LD_PRELOAD={}", list.join(":"))]);
        }
        words.push(self.program.display().to_string());
        words.extend_from_slice(&self.args);

        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env_remove("QMPI_LOG");
        command.envs(self.mpi.map(Mpi::variables).unwrap_or_default());
        if self.ranks == 0 {
            // A process on its own needs no daemon of Open MPI's beside it.
            command.env("OMPI_MCA_ess_singleton_isolated", "1");
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        let ended = child::run(&mut command);
        Outcome {
            status: ended.status.code().or(ended.status.signal().map(|signal| 128 + signal)).unwrap_or(-1),
            command: words[4..].join(" "),
            stdout: ended.stdout,
            stderr: match &self.run {
                Some(options) if options.is_empty() => without_notice(&ended.stderr),
                _ => ended.stderr,
            },
            cpu: ended.cpu,
        }
    }
}

/// What was said but for the command's notice that there are no tools, which is right where a test wants none.
fn without_notice(stderr: &str) -> String {
    const NOTICE: [&str; 2] =
        ["qmpi: warning: no tools: COMMAND runs without a stack", "qmpi: hint: name tools with -t, or a file with -c"];
    stderr.split_inclusive('\n').filter(|line| !NOTICE.contains(&line.trim_end())).collect()
}

impl Outcome {
    /// The lines of stdout, sorted: ranks print in no particular order.
    pub fn lines(&self) -> Vec<&str> {
        let mut lines: Vec<&str> = self.stdout.lines().collect();
        lines.sort_unstable();
        lines
    }

    /// How many lines of stdout start with `prefix`.
    pub fn count(&self, prefix: &str) -> usize {
        self.stdout.lines().filter(|line| line.starts_with(prefix)).count()
    }

    /// What we ourselves said on stderr.
    pub fn said(&self) -> Vec<&str> {
        self.stderr.lines().filter(|line| line.starts_with("qmpi")).collect()
    }

    /// Everything that is known, for a failure's message.
    pub fn report(&self) -> String {
        let Outcome { stdout, stderr, status, command, cpu: _ } = self;
        format!("command: {command}\nstatus: {status}\n--- stdout\n{stdout}--- stderr\n{stderr}---")
    }

    /// Fails unless the job ended with `status` and printed each of `lines` on stdout.
    ///
    /// # Errors
    /// What is missing, and all of the output.
    pub fn expect(&self, status: i32, lines: &[String]) -> Result<(), String> {
        if self.status != status {
            return Err(format!("exit status {} instead of {status}\n{}", self.status, self.report()));
        }
        match lines.iter().find(|line| !self.stdout.lines().any(|printed| printed == line.as_str())) {
            Some(line) => Err(format!("stdout lacks the line {line:?}\n{}", self.report())),
            None => Ok(()),
        }
    }
}
