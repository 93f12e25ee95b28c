//! The command line: one definition from which parsing, `--help`, the man pages and the completions come.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::NonEmptyStringValueParser;
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use qmpi_plan::RankSet;

use crate::job::Job;

const TOOL_HELP: &str = "\
A tool; repeat the option for each layer, outermost first. TOOL is a PATH (with a `/`), a NAME, or NAME=PATH. A name is looked up in the configuration file, then in the directories \
of QMPI_TOOL_PATH (NAME, NAME.so, libNAME.so, the highest libNAME.so.*), then in the dynamic linker's path. The same tool may be given more than once: each is an instance of its own.";

const STATUS: &str = "\
EXIT STATUS
  0    success
  2    wrong usage
  3    the stack cannot be set up, or the question cannot be answered
Errors are one line on stderr, and one `hint:` line that says what to do.";

const RUN_EXAMPLES: &str = "\
EXAMPLES
  Two instances of one tool around another:
      qmpi run -t outer=./libmpiP.so -t ./libheatmap.so -t inner=./libmpiP.so mpiexec -n 4 ./app
  The stack of a configuration file, looked at but not run:
      qmpi run -c qmpi.toml --dry-run srun -n 64 ./app
  Inside the launcher, for one program of several:
      mpiexec -n 3 ./app : -n 1 qmpi run -t mpiP ./app
  For a debugger that finds ranks by MPIR, with any launcher:
      gdb --args qmpi run --mpir -t ./libmpiP.so mpiexec -n 4 ./app

EXIT STATUS
  COMMAND's own, since `run` is replaced by COMMAND, or with --mpir ends as it does. Otherwise:
  2    wrong usage
  3    the stack cannot be set up; COMMAND was not started
  126  COMMAND was found but cannot be executed
  127  COMMAND was not found

ENVIRONMENT
  QMPI_TOOL_LIST, QMPI_TOOL_PATH, QMPI_CONFIG, QMPI_ON_ERROR, QMPI_LOG, QMPI_PROCESSES, TOOLS,
  QMPI_CRASH_REPORT
                as for the runtime; -t, -c, -q and -v win over them
  QMPI_RUNTIME  the libqmpi.so to use instead of the one beside this command or in ../lib/qmpi
  NO_COLOR      no colours if set and not empty

NOTES
  Launchers of Open MPI and MPICH that start processes on other hosts are told to pass the
  variables on: --dry-run shows the options that are added. A launcher inside a script is not;
  `qmpi doctor -- LAUNCHER ...` says what it needs.";

const COMPARE_EXAMPLES: &str = "\
EXAMPLES
  A tool under LD_PRELOAD and in a stack:
      qmpi compare --native -t ./libmpiP.so -- mpiexec -n 4 ./app
  A tool and its port, or two releases of one:
      qmpi compare --old ./libtool_pmpi.so --new ./libtool_qmpi.so -- mpiexec -n 4 ./app
  The same, the old one under LD_PRELOAD:
      qmpi compare --native --old ./libtool_pmpi.so --new ./libtool_qmpi.so -- mpiexec -n 4 ./app
  Two stacks:
      qmpi compare -c a.toml --with b.toml -- mpiexec -n 4 ./app

EXIT STATUS
  0    the same
  1    different
  2    wrong usage, or a run that could not be made

NOTES
  Runs happen in DIR/run, which has the files of the current directory, and are kept as DIR/old-1, DIR/new-1
  and so on, with their output and what they wrote. Times, process ids, addresses, names of hosts and temporary
  directories are masked; --mask and `mask = [\"...\"]` in the configuration file name more.";

const INSPECT_EXAMPLES: &str = "\
EXAMPLES
  Which kind of tool is it, and will it work?
      qmpi inspect ./libmpiP.so
  All functions that it intercepts:
      qmpi inspect --json ./libmpiP.so | jq -r '.files[].tool.intercepts[]'
  What is it together with the libraries that are preloaded before it?
      qmpi inspect --with ./libscorep_init.so ./libscorep_adapter_mpi_event.so
  What the MPI library is, and which MPI a program uses:
      qmpi inspect /usr/lib/x86_64-linux-gnu/libmpi.so.40 ./app";

const LIST_EXAMPLES: &str = "\
EXAMPLES
  The layers of a configuration file, and which calls which:
      qmpi list -c qmpi.toml
  The same for tools not yet in a file:
      qmpi list -t ./libmpiP.so -t ./libheatmap.so";

const ENV_EXAMPLES: &str = "\
EXAMPLES
  In a batch script, or before a launcher that `run` cannot be put in front of:
      eval \"$(qmpi env -t mpiP)\"
      srun -n 64 ./app
  Launchers on several hosts pass on only what they are told to:
      Open MPI:       mpirun -x LD_PRELOAD -x QMPI_TOOL_LIST ..., each variable that is printed
      MPICH (Hydra):  everything, but with -genvnone or -genvlist
      Slurm:          everything, but with --export or SLURM_EXPORT_ENV
  `qmpi doctor -- LAUNCHER ...` says what a command line lacks.";

const DOCTOR_EXAMPLES: &str = "\
EXAMPLES
  What would stop a run here?
      qmpi doctor
  Does the stack get to every rank of this job, and what would have to be passed?
      qmpi doctor -t ./libmpiP.so -- mpirun --host a,b -n 2 ./app
  Only what failed:
      qmpi doctor --json | jq -r '.checks[] | select(.status == \"fail\") | .message'

EXIT STATUS
  0    nothing fails (warnings are possible)
  2    wrong usage
  3    something fails";

const DEMO_EXAMPLES: &str = "\
EXAMPLES
      qmpi demo
  Another MPI than that of mpicc, and another launcher than its mpiexec:
      qmpi demo --mpicc mpicc.mpich
      qmpi demo -- srun -n 4";

const CTL_EXAMPLES: &str = "\
EXAMPLES
  Which layers of a job can be switched, and which are on?
      qmpi ctl $(pgrep mpiexec) list
  Off in one rank, on in all of the user's processes on this host:
      qmpi ctl 4711 disable mpiP
      qmpi ctl all enable mpiP
  On several hosts:
      srun --overlap qmpi ctl all disable mpiP

NOTES
  Layers can be switched with `switch = true` in their section of the configuration file, and
  all of them in a job that was started by `qmpi run --ctl`. What a layer that is off still
  sees: docs/configuration.md.";

const PS_EXAMPLES: &str = "\
EXAMPLES
      qmpi ps $(pgrep mpiexec)
  Numbers of all processes, for a script:
      qmpi ps --json 4711 | jq '.ranks[].pid'
  Of a job that is started for it:
      qmpi ps -- mpiexec -n 4 ./app";

const ATTACH_EXAMPLES: &str = "\
EXAMPLES
  Where does the job hang?
      qmpi attach 4711 -- gdb -p {pid} -batch -ex bt
  Ranks that run Python:
      qmpi attach 4711 --ranks 0-3 -- py-spy dump --pid {pid}

EXIT STATUS
  0    the command succeeded for all ranks
  2    wrong usage
  3    it failed for one";

const BISECT_EXAMPLES: &str = "\
EXAMPLES
      qmpi bisect -t ./a.so -t ./b.so -t ./c.so -- mpiexec -n 4 ./app
  What fails in one run of ten:
      qmpi bisect --runs 20 -c stack.toml -- mpiexec -n 4 ./app

NOTES
  The exit status of COMMAND is compared, or the signal that ends it. What it prints is not
  shown, but for the last lines on stderr of the smallest stack that fails.";

const TOOLS_EXAMPLES: &str = "\
EXAMPLES
      qmpi tools
      qmpi run -t mpiP mpiexec -n 4 ./app

NOTES
  Names come from [tool.NAME] sections of /etc/qmpi/config.toml, of ~/.config/qmpi/config.toml
  (QMPI_SITE_CONFIG names other files, or none), of the configuration file; then from files in the
  directories of QMPI_TOOL_PATH and of `search` in these files.";

const REPORT_EXAMPLES: &str = "\
EXAMPLES
  Measure a job, and read what its tools cost:
      qmpi run --report -t ./libmpiP.so -t ./libheatmap.so mpiexec -n 4 ./app
      qmpi report
  A page for a browser; it is one file, to look at offline or to send to others:
      qmpi report --html
      qmpi report /scratch/job-42 --html=job-42.html
  Time of each layer in its own code, in nanoseconds on all ranks:
      qmpi report --json | jq '.layers[] | {label, own: .own.sum_ns}'

NOTES
  What the numbers are: docs/report.md.";

const COMPLETIONS_EXAMPLES: &str = "\
EXAMPLES
      qmpi completions bash > ~/.local/share/bash-completion/completions/qmpi
      qmpi completions zsh  > \"${fpath[1]}/_qmpi\"
      qmpi completions fish > ~/.config/fish/completions/qmpi.fish";

const MAN_EXAMPLES: &str = "\
EXAMPLES
  Read one page:
      qmpi man run | man -l -
  Write all pages, qmpi.1, qmpi-run.1, ...:
      qmpi man --output share/man/man1";

/// Run unmodified MPI programs under a stack of MPI tools
///
/// Several tools at once, several instances of one tool, PMPI tools and QMPI tools mixed, with any MPI library.
#[derive(Debug, Parser)]
#[command(name = "qmpi", version, propagate_version = true, after_help = STATUS, disable_help_subcommand = true)]
#[command(max_term_width = 110)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run COMMAND under a stack of tools
    ///
    /// Finds and inspects every tool, sets the environment, and is replaced by COMMAND, which is a launcher (`mpiexec -n 4
    /// ./app`, `srun ./app`) or the program itself. Without tools, the runtime alone is preloaded.
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArgs),

    /// Compile a small program and two tools, and run them in a stack: is all here that is needed?
    ///
    /// Each command is shown before it runs. The files stay in DIR, to look at and to try variations.
    #[command(after_help = DEMO_EXAMPLES)]
    Demo(DemoArgs),

    /// Say what a tool, an MPI library or a program is, what it intercepts, what it needs, and what will not work
    #[command(after_help = INSPECT_EXAMPLES)]
    Inspect(InspectArgs),

    /// Show the stack: what each layer intercepts, which layer calls which
    ///
    /// Tools that register themselves are loaded for that, in a process of its own in which no MPI runs.
    #[command(after_help = LIST_EXAMPLES)]
    List(ListArgs),

    /// Show what `qmpi run --report` measured: what each layer costs, and what it does to the calls
    #[command(after_help = REPORT_EXAMPLES)]
    Report(ReportArgs),

    /// Show the tools that are known by name
    ///
    /// Those of the site's and the user's configuration, and what lies in the directories of names.
    #[command(after_help = TOOLS_EXAMPLES)]
    Tools(ToolsArgs),

    /// Run a program under two sides of tools and say whether it is the same: the migration test for authors of tools
    ///
    /// The sides are a tool under plain LD_PRELOAD and in a stack, a tool and its port, or two stacks. Each runs several times, in turns,
    /// in directories of their own; what varies between runs of one side is not held against the other.
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(CompareArgs),

    /// Start a rank of a run of `compare`, which puts this in front of the program
    #[command(name = "compare-rank", hide = true)]
    Rank(RankArgs),

    /// Print the variables that `run` would set, for a shell to evaluate
    #[command(after_help = ENV_EXAMPLES)]
    Env(EnvArgs),

    /// Switch layers of a running job off and on
    ///
    /// JOB is the number of a rank's process, or of its launcher's: then all its ranks on this host are meant. `all` means all of
    /// the user's processes on this host. The processes are not stopped; a call that is under way is completed.
    #[command(after_help = CTL_EXAMPLES)]
    Ctl(CtlArgs),

    /// Show the ranks of a job: host, process, program, and the layers of each
    ///
    /// PID is the number of the launcher's process: one with MPIR (`qmpi run --mpir`, srun, Open MPI 4's mpirun), any other one for the
    /// ranks on this host, or a process above it. With a COMMAND, starts it as `qmpi run --mpir` does, and shows the ranks when all are there.
    #[command(after_help = PS_EXAMPLES)]
    Ps(PsArgs),

    /// Run a command for each rank of a job on this host, and show equal outputs once, back traces as one tree
    ///
    /// In the command, `{pid}`, `{rank}` and `{program}` stand for those of the rank. What gdb's `bt` and `py-spy dump` print becomes one tree
    /// of frames, with the layer that each is in.
    #[command(after_help = ATTACH_EXAMPLES)]
    Attach(AttachArgs),

    /// Load tools that register themselves, and print what they intercept: `list` starts this process for itself
    #[command(hide = true)]
    Survey(SurveyArgs),

    /// Report a crash: `libqmpi_crash.so` starts this in a process that crashes
    #[command(hide = true)]
    Crashed(CrashedArgs),

    /// Find the layers that make COMMAND fail
    ///
    /// Runs COMMAND without a stack, with the stack, and then with fewer and fewer of its layers, as long as it ends in another way than
    /// without a stack. Says which layers it takes, and exits with 3 if the stack makes no difference.
    #[command(after_help = BISECT_EXAMPLES)]
    Bisect(BisectArgs),

    /// Check what a run needs of this machine
    #[command(after_help = DOCTOR_EXAMPLES)]
    Doctor(DoctorArgs),

    /// Print a completion script for a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell.
        shell: Shell,
    },

    /// Print a manual page
    #[command(after_help = MAN_EXAMPLES)]
    Man(ManArgs),
}

/// Which stack: shared by the commands that set one up.
#[derive(Debug, Args, Default, Clone)]
pub struct StackArgs {
    /// A tool; repeat it for each layer, outermost first
    #[arg(short, long = "tool", value_name = "TOOL", long_help = TOOL_HELP, allow_hyphen_values = false)]
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub tools: Vec<String>,

    /// The configuration file (TOML): default stack and settings of each tool
    #[arg(short, long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Nothing is added to what is asked for, whatever the site wants: `bisect` starts runs so
    #[arg(long, hide = true)]
    pub exact: bool,

    /// COMMAND, where there is one: it may register tools itself.
    #[arg(skip)]
    pub command: Vec<OsString>,
}

/// How much the runtime says.
#[derive(Debug, Args, Default, Clone, Copy)]
pub struct VerbosityArgs {
    /// Errors only
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Say what is set up; twice: every decision
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,
}

/// `qmpi run`
#[derive(Debug, Default, Args)]
pub struct RunArgs {
    /// Which stack.
    #[command(flatten)]
    pub stack: StackArgs,

    /// Print the stack, the variables and the command, and run nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Show the ranks to debuggers by MPIR, whatever the launcher: stay its parent, with a table of its processes
    #[arg(long)]
    pub mpir: bool,

    /// What to measure.
    #[command(flatten)]
    pub measure: MeasureArgs,

    /// In which processes the stack is, and what can be done with it there.
    #[command(flatten)]
    pub load: LoadArgs,

    /// How much to say.
    #[command(flatten)]
    pub verbosity: VerbosityArgs,

    /// Print the table of processes once it is there: `qmpi ps -- COMMAND`.
    #[arg(skip)]
    pub prints_table: Option<bool>,

    /// The command and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true)]
    pub command: Vec<OsString>,
}

/// In which processes the stack is, and what can be done with it there.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct LoadArgs {
    /// Make all layers ones that `qmpi ctl` can switch off and on while the program runs
    #[arg(long)]
    pub ctl: bool,

    /// Load the tools when a process starts, whether it has an MPI or not, as LD_PRELOAD does
    #[arg(long)]
    pub all_processes: bool,

    /// When a process dies by a signal, say in which layer, with a back trace
    ///
    /// The signals are SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT. Handlers of the program, of tools and of MPI still run, and the exit
    /// status is the same. QMPI_CRASH_REPORT=1 and `crash_report = true` in the configuration file ask for it as well.
    #[arg(long)]
    pub crash_report: bool,
}

/// What the runtime measures.
#[derive(Debug, Default, Args)]
pub struct MeasureArgs {
    /// Print how often each function came to each layer, when the job has ended: a part of what `--report` measures
    #[arg(long)]
    pub stats: bool,

    /// Measure what each layer costs and does to the calls, into a directory that `qmpi report DIR` shows
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, default_missing_value = "qmpi-report")]
    pub report: Option<PathBuf>,

    /// Record the calls themselves, with their arguments, for `qmpi report --trace`: the first 1000 that each thread makes at each layer, or N
    ///
    /// `last:N` keeps the last N instead, `all` all of them. The calls go into the directory of `--report`, and are there as well if the
    /// program is killed. With `,buffers` behind it (`--trace=all,buffers`) they have hashes of what is in buffers.
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "first:1000")]
    pub trace: Option<TraceLimit>,
}

impl MeasureArgs {
    /// The directory of the report, which a trace and a table of calls need as well.
    #[must_use]
    pub fn directory(&self) -> Option<PathBuf> {
        self.report.clone().or_else(|| (self.stats || self.trace.is_some()).then(|| PathBuf::from("qmpi-report")))
    }
}

/// Which calls `--trace` records, as the runtime is told: `all`, `first:N`, `last:N`, with `,buffers` behind it if that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceLimit(pub String);

impl FromStr for TraceLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (text, buffers) = text.strip_suffix(",buffers").map_or((text, ""), |text| (text, ",buffers"));
        let (which, calls) = text.split_once(':').unwrap_or(("first", text));
        let is_number = calls.parse::<u32>().is_ok_and(|calls| calls > 0);
        match which {
            _ if text == "all" => Ok(Self(format!("{text}{buffers}"))),
            "first" | "last" if is_number => Ok(Self(format!("{which}:{calls}{buffers}"))),
            _ => Err("it is a number of calls, last:NUMBER, or all".to_owned()),
        }
    }
}

/// How calls are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TraceForm {
    /// A line for each call.
    Text,
    /// Events of Chrome's trace format.
    Json,
}

/// `qmpi compare`
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The old side is the tool under plain LD_PRELOAD
    #[arg(long)]
    pub native: bool,

    /// The tool of the old side
    #[arg(long, value_name = "TOOL", requires = "new", value_parser = NonEmptyStringValueParser::new())]
    pub old: Option<String>,

    /// The tool of the new side
    #[arg(long, value_name = "TOOL", requires = "old", value_parser = NonEmptyStringValueParser::new())]
    pub new: Option<String>,

    /// A tool of both sides
    #[arg(short, long = "tool", value_name = "TOOL", value_parser = NonEmptyStringValueParser::new())]
    pub tools: Vec<String>,

    /// The configuration file of both sides, or of the old one
    #[arg(short, long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// The configuration file of the new side
    #[arg(long, value_name = "FILE", requires = "config", conflicts_with = "native")]
    pub with: Option<PathBuf>,

    /// Runs of each side; as many more where something differs, and as many again with a record of all calls
    #[arg(long, value_name = "NUMBER", default_value = "3", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: u32,

    /// A regular expression; what it matches in output and names of files is not compared; repeatable
    #[arg(long, value_name = "REGEX")]
    pub mask: Vec<String>,

    /// Compare the first calls of each thread at each layer one by one; of all others, only how many there are of each function
    #[arg(long, value_name = "NUMBER", default_value = "100000", value_parser = clap::value_parser!(u32).range(1..))]
    pub calls: u32,

    /// Compare what is in the buffers of messages, too, by their hashes
    #[arg(long)]
    pub buffers: bool,

    /// A call that costs more than RATIO times as much in the new side's tools is a difference
    #[arg(long, value_name = "RATIO", default_value = "1.5")]
    pub slower: f64,

    /// End a run after so many seconds; by default, a new side's after ten times the old side's time and a minute
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<u64>,

    /// Where runs and their results go; an earlier comparison there is removed
    #[arg(short, long, value_name = "DIR", default_value = "qmpi-compare")]
    pub output: PathBuf,

    /// All differences, not only the first ones
    #[arg(long)]
    pub all: bool,

    /// Answer in JSON
    #[arg(long)]
    pub json: bool,

    /// Write the answer as a page, too
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// The command and its arguments
    #[arg(value_name = "COMMAND", required = true, last = true)]
    pub command: Vec<OsString>,
}

/// What stands in front of a program in a run of `qmpi compare`.
#[derive(Debug, Args)]
pub struct RankArgs {
    /// Where its output goes.
    #[arg(long)]
    pub to: PathBuf,
    /// A library to preload.
    #[arg(long)]
    pub preload: Vec<PathBuf>,
    /// NAME=VALUE
    #[arg(long)]
    pub variable: Vec<String>,
    /// The runtime stays.
    #[arg(long)]
    pub traced: bool,
    /// Output stays.
    #[arg(long)]
    pub whole: bool,
    /// The program.
    #[arg(required = true, last = true)]
    pub command: Vec<OsString>,
}

/// What is asked for the report of a crash.
#[derive(Debug, Args)]
pub struct CrashedArgs {
    /// The socket by which the process answers.
    pub descriptor: i32,
}

/// `qmpi report`
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// What `qmpi run --report` wrote
    #[arg(value_name = "DIR", default_value = "qmpi-report")]
    pub directory: PathBuf,

    /// Every function, not only the most expensive ones
    #[arg(long)]
    pub all: bool,

    /// The calls that `qmpi run --trace` recorded: as text, or as JSON for Perfetto (ui.perfetto.dev) and Chrome (about:tracing)
    #[arg(long, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    #[arg(conflicts_with_all = ["all", "json"])]
    pub trace: Option<TraceForm>,

    /// Show where the program makes its calls: FILE:LINE if it has debug information, else OBJECT+ADDRESS. JSON always has it
    #[arg(long, requires = "trace")]
    pub sites: bool,

    /// Answer in JSON
    #[arg(long)]
    pub json: bool,

    /// Write a page for a browser, one file that needs no network [default: report.html in DIR]
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, conflicts_with_all = ["json", "all"])]
    pub html: Option<Option<PathBuf>>,
}

/// `qmpi inspect`
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// Files to inspect
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,

    /// A library that each is loaded with and that stands before it, as `with` of a section of the configuration file; repeatable
    #[arg(long, value_name = "PATH")]
    pub with: Vec<PathBuf>,

    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

/// `qmpi list`
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Which stack.
    #[command(flatten)]
    pub stack: StackArgs,

    /// Answer in JSON
    #[arg(long)]
    pub json: bool,

    /// Load no tool: what QMPI tools intercept, which register themselves, is then not known
    #[arg(long)]
    pub no_load: bool,
}

/// `qmpi bisect`
#[derive(Debug, Args)]
pub struct BisectArgs {
    /// Which stack.
    #[command(flatten)]
    pub stack: StackArgs,

    /// Runs of each stack, of which one that fails is enough: for what fails now and then
    #[arg(long, value_name = "N", default_value = "1")]
    pub runs: NonZeroU32,

    /// A run that takes longer has failed
    #[arg(long, value_name = "SECONDS", default_value = "600")]
    pub timeout: u32,

    /// Nothing is measured, and layers stay on.
    #[arg(skip)]
    pub measure: MeasureArgs,
    /// See there.
    #[arg(skip)]
    pub load: LoadArgs,

    /// How much to say.
    #[command(flatten)]
    pub verbosity: VerbosityArgs,

    /// The command and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true)]
    pub command: Vec<OsString>,
}

/// `qmpi tools`
#[derive(Debug, Args)]
pub struct ToolsArgs {
    /// Configuration file: its sections as well [default: $QMPI_CONFIG]
    #[arg(short, long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `qmpi demo`
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// The MPI's compiler wrapper
    #[arg(long, value_name = "COMMAND", default_value = "mpicc")]
    pub mpicc: OsString,

    /// Where the files go
    #[arg(value_name = "DIR", default_value = "qmpi-demo")]
    pub directory: PathBuf,

    /// How programs are started [default: mpiexec of that MPI, with 4 ranks]
    #[arg(value_name = "LAUNCHER", last = true)]
    pub launcher: Vec<OsString>,
}

/// `qmpi env`
#[derive(Debug, Args)]
pub struct EnvArgs {
    /// Which stack.
    #[command(flatten)]
    pub stack: StackArgs,

    /// What to measure.
    #[command(flatten)]
    pub measure: MeasureArgs,

    /// In which processes the stack is, and what can be done with it there.
    #[command(flatten)]
    pub load: LoadArgs,

    /// For which reader: a shell of the Bourne family, csh or tcsh, fish; JSON; or a modulefile, for Environment Modules and Lmod
    #[arg(long, value_name = "SHELL", default_value = "sh")]
    pub shell: Syntax,

    /// How much the runtime is to say.
    #[command(flatten)]
    pub verbosity: VerbosityArgs,
}

/// How `qmpi env` writes variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Syntax {
    /// `export NAME='VALUE'`
    Sh,
    /// `setenv NAME 'VALUE'`
    Csh,
    /// `set -gx NAME 'VALUE'`
    Fish,
    /// One object
    Json,
    /// A modulefile in Tcl
    Modulefile,
}

/// `qmpi ps`
#[derive(Debug, Args)]
#[group(id = "which", required = true, multiple = false, args = ["pid", "command"])]
pub struct PsArgs {
    /// The number of a launcher's process
    #[arg(value_name = "PID")]
    pub pid: Option<u32>,

    /// Answer in JSON
    #[arg(long)]
    pub json: bool,

    /// Which stack, for COMMAND.
    #[command(flatten)]
    pub stack: StackArgs,

    /// COMMAND as for `run`
    #[arg(value_name = "COMMAND", last = true)]
    pub command: Vec<OsString>,
}

/// `qmpi attach`
#[derive(Debug, Args)]
pub struct AttachArgs {
    /// The number of a launcher's process, as for `ps`
    #[arg(value_name = "PID")]
    pub pid: u32,

    /// These ranks only: 0-3,8
    #[arg(long, value_name = "RANKS")]
    pub ranks: Option<RankSet>,

    /// The command and its arguments
    #[arg(value_name = "COMMAND", required = true, last = true)]
    pub command: Vec<OsString>,
}

/// `qmpi ctl`
#[derive(Debug, Args)]
pub struct CtlArgs {
    /// The number of a process, or `all`
    #[arg(value_name = "JOB")]
    pub job: Job,

    /// What to do.
    #[command(subcommand)]
    pub action: CtlAction,
}

/// What `qmpi ctl` does.
#[derive(Debug, Subcommand)]
pub enum CtlAction {
    /// Show the layers that can be switched
    List {
        /// Answer in JSON
        #[arg(long)]
        json: bool,
    },
    /// Let calls go through these layers again
    Enable {
        /// Their names as `list` shows them, or their numbers
        #[arg(value_name = "LAYER", required = true)]
        layers: Vec<String>,
    },
    /// Let calls go past these layers
    Disable {
        /// Their names as `list` shows them, or their numbers
        #[arg(value_name = "LAYER", required = true)]
        layers: Vec<String>,
    },
}

/// `qmpi doctor`
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Which stack, if not that of the environment.
    #[command(flatten)]
    pub stack: StackArgs,

    /// Answer in JSON
    #[arg(long)]
    pub json: bool,

    /// COMMAND as for `run`, a launcher or the program itself: would the stack get to every rank?
    #[arg(value_name = "COMMAND", last = true)]
    pub command: Vec<OsString>,
}

/// `qmpi man`
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The page of this command; the overview without one
    #[arg(value_name = "COMMAND", conflicts_with = "output")]
    pub page: Option<String>,

    /// Write all pages into this directory instead
    #[arg(short, long, value_name = "DIRECTORY")]
    pub output: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn options_after_the_command_belong_to_it() {
        let cli = Cli::try_parse_from(["qmpi", "run", "-t", "a", "mpiexec", "-n", "4", "-v", "./app", "--", "-x"]);
        let Command::Run(run) = cli.unwrap().command else { panic!("run") };
        assert_eq!(run.command, ["mpiexec", "-n", "4", "-v", "./app", "--", "-x"]);
        assert_eq!((run.stack.tools, run.verbosity.verbose), (vec!["a".to_owned()], 0));
    }
}

/// Arguments of `survey`.
#[derive(Debug, Args)]
pub struct SurveyArgs {
    /// libqmpi_core.so, which loads the tools.
    pub core: PathBuf,
    /// The tools, a line each.
    pub request: String,
}
