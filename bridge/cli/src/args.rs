//! The command line: one definition from which parsing, `--help`, the man pages and the completions come.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use qmpi_launch::processes::ProcessChoice;
use qmpi_launch::rank_start::RankStart;
use qmpi_plan::RankSet;

const TOOL_HELP: &str = "\
A tool; repeat the option for each layer, outermost first. TOOL is a PATH (with a `/`), a NAME, or NAME=PATH. A name is looked up in the configuration file, then in the directories \
of QMPI_TOOL_PATH (NAME, NAME.so, libNAME.so, the highest libNAME.so.*), then in the dynamic linker's path. The same tool may be given more than once: each is an instance of its own.";

/// Run unmodified MPI programs under a stack of MPI tools
///
/// Several tools at once, several instances of one tool, PMPI tools and QMPI tools mixed, with any MPI library.
#[derive(Debug, Parser)]
#[command(name = "qmpi", version, propagate_version = true, disable_help_subcommand = true)]
#[command(after_help = include_str!("args/status.txt").trim_ascii_end(), max_term_width = 110)]
pub struct Cli {
    #[command(subcommand)]
    pub(crate) command: QmpiCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum QmpiCommand {
    /// Run COMMAND under a stack of tools
    ///
    /// Finds and inspects every tool, sets the environment, and is replaced by COMMAND, which is a launcher (`mpiexec -n 4
    /// ./app`, `srun ./app`) or the program itself. Without tools, the runtime alone is preloaded.
    #[command(after_help = include_str!("args/run.txt").trim_ascii_end())]
    Run(RunArgs),

    /// Compile a small program and two tools, and run them in a stack: is all here that is needed?
    ///
    /// Each command is shown before it runs. The files stay in DIR, to look at and to try variations.
    #[command(after_help = include_str!("args/demo.txt").trim_ascii_end())]
    Demo(DemoArgs),

    /// Say what a tool, an MPI library or a program is, what it intercepts, what it needs, and what will not work
    #[command(after_help = include_str!("args/inspect.txt").trim_ascii_end())]
    Inspect(InspectArgs),

    /// Show the stack: what each layer intercepts, which layer calls which
    ///
    /// Tools that register themselves are loaded for that, in a process of its own in which no MPI runs.
    #[command(after_help = include_str!("args/list.txt").trim_ascii_end())]
    List(ListArgs),

    /// Show what `qmpi run --report` measured: what each layer costs, and what it does to the calls
    #[command(after_help = include_str!("args/report.txt").trim_ascii_end())]
    Report(ReportArgs),

    /// Show the tools that are known by name
    ///
    /// Those of the site's and the user's configuration, and what lies in the directories of names.
    #[command(after_help = include_str!("args/tools.txt").trim_ascii_end())]
    Tools(ToolsArgs),

    /// Run a program under two sides of tools and say whether it is the same: the migration test for authors of tools
    ///
    /// The sides are a tool under plain LD_PRELOAD and in a stack, a tool and its port, or two stacks. Each runs several times, in turns,
    /// in directories of their own; what varies between runs of one side is not held against the other.
    #[command(after_help = include_str!("args/compare.txt").trim_ascii_end())]
    Compare(CompareArgs),

    /// Start a rank of a run of `compare`, which puts this in front of the program
    #[command(name = "compare-rank", hide = true)]
    Rank {
        #[command(flatten)]
        start: RankStart,
        /// The program.
        #[arg(required = true, last = true)]
        command: Vec<OsString>,
    },

    /// Print the variables that `run` would set, for a shell to evaluate
    #[command(after_help = include_str!("args/env.txt").trim_ascii_end())]
    Env(EnvArgs),

    /// Switch layers of a running job off and on
    ///
    /// JOB is the number of a rank's process, or of its launcher's: then all its ranks on this host are meant. `all` means all of
    /// the user's processes on this host. The processes are not stopped; a call that is under way is completed.
    #[command(after_help = include_str!("args/ctl.txt").trim_ascii_end())]
    Ctl(CtlArgs),

    /// Show the ranks of a job: host, process, program, and the layers of each
    ///
    /// PID is the number of the launcher's process: one with MPIR (`qmpi run --mpir`, srun, Open MPI 4's mpirun), any other one for the
    /// ranks on this host, or a process above it. With a COMMAND, starts it as `qmpi run --mpir` does, and shows the ranks when all are there.
    #[command(after_help = include_str!("args/ps.txt").trim_ascii_end())]
    Ps(PsArgs),

    /// Run a command for each rank of a job on this host, and show equal outputs once, back traces as one tree
    ///
    /// In the command, `{pid}`, `{rank}` and `{program}` stand for those of the rank. What gdb's `bt` and `py-spy dump` print becomes one tree
    /// of frames, with the layer that each is in.
    #[command(after_help = include_str!("args/attach.txt").trim_ascii_end())]
    Attach(AttachArgs),

    /// Load tools that register themselves, and print what they intercept: `list` starts this process for itself
    #[command(hide = true)]
    Survey {
        /// libqmpi_core.so, which loads the tools.
        core: PathBuf,
        /// The tools, a line each.
        request: String,
    },

    /// Find the layers that make COMMAND fail
    ///
    /// Runs COMMAND without a stack, with the stack, and then with fewer and fewer of its layers, as long as it ends in another way than
    /// without a stack. Says which layers it takes, and exits with 3 if the stack makes no difference.
    #[command(after_help = include_str!("args/bisect.txt").trim_ascii_end())]
    Bisect(BisectArgs),

    /// Check what a run needs of this machine
    #[command(after_help = include_str!("args/doctor.txt").trim_ascii_end())]
    Doctor(DoctorArgs),

    /// Print a completion script for a shell
    #[command(after_help = include_str!("args/completions.txt").trim_ascii_end())]
    Completions {
        /// The shell.
        shell: Shell,
    },

    /// Print a manual page
    #[command(after_help = include_str!("args/man.txt").trim_ascii_end())]
    Man {
        /// The page of this command; the overview without one
        #[arg(value_name = "COMMAND", conflicts_with = "output")]
        page: Option<String>,

        /// Write all pages into this directory instead
        #[arg(short, long, value_name = "DIRECTORY")]
        output: Option<PathBuf>,
    },
}

/// Which stack: shared by the commands that set one up.
#[derive(Debug, Args, Default, Clone)]
pub(crate) struct StackArgs {
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
}

impl StackArgs {
    /// The options of `qmpi run` that ask for just this stack.
    pub(crate) fn options(&self) -> Vec<OsString> {
        let tools = self.tools.iter().flat_map(|tool| ["-t".into(), tool.into()]);
        let config = self.config.iter().flat_map(|config| ["-c".into(), config.into()]);
        ["-q".into(), "--exact".into()].into_iter().chain(tools).chain(config).collect()
    }
}

/// How much the runtime says.
#[derive(Debug, Args, Default, Clone, Copy)]
pub(crate) struct VerbosityArgs {
    /// Errors only
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Say what is set up; twice: every decision
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,
}

#[derive(Debug, Default, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub stack: StackArgs,

    /// Print the stack, the variables and the command, and run nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Show the ranks to debuggers by MPIR, whatever the launcher: stay its parent, with a table of its processes
    #[arg(long)]
    pub mpir: bool,

    #[command(flatten)]
    pub runtime: RuntimeArgs,

    #[command(flatten)]
    pub verbosity: VerbosityArgs,

    /// The command and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true)]
    pub command: Vec<OsString>,
}

/// What the runtime measures, in which processes the stack is, and what can be done with it there.
#[derive(Debug, Default, Args)]
pub(crate) struct RuntimeArgs {
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
    #[arg(value_parser = trace_limit)]
    pub trace: Option<String>,

    /// Make all layers ones that `qmpi ctl` can switch off and on while the program runs
    #[arg(long)]
    pub ctl: bool,

    /// Load the tools when a process starts, whether it has an MPI or not, as LD_PRELOAD does
    #[arg(long)]
    pub all_processes: bool,
}

impl RuntimeArgs {
    /// The directory of the report, which a trace and a table of calls need as well.
    pub(crate) fn directory(&self) -> Option<PathBuf> {
        self.report.clone().or_else(|| (self.stats || self.trace.is_some()).then(|| PathBuf::from("qmpi-report")))
    }
}

/// Which calls `--trace` records, as the runtime is told: `all`, `first:N`, `last:N`, with `,buffers` behind it if that is wanted.
fn trace_limit(text: &str) -> Result<String, &'static str> {
    let (text, buffers) = text.strip_suffix(",buffers").map_or((text, ""), |text| (text, ",buffers"));
    let (which, calls) = text.split_once(':').unwrap_or(("first", text));
    let is_number = calls.parse::<u32>().is_ok_and(|calls| calls > 0);
    match which {
        _ if text == "all" => Ok(format!("{text}{buffers}")),
        "first" | "last" if is_number => Ok(format!("{which}:{calls}{buffers}")),
        _ => Err("it is a number of calls, last:NUMBER, or all"),
    }
}

/// How calls are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TraceForm {
    /// A line for each call.
    Text,
    /// Events of Chrome's trace format.
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
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

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
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

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
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

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub stack: StackArgs,

    /// Answer in JSON
    #[arg(long)]
    pub json: bool,

    /// Load no tool: what QMPI tools intercept, which register themselves, is then not known
    #[arg(long)]
    pub no_load: bool,

    /// A program, with its launcher or without: what it calls of MPI and layers do not see is listed, too
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct BisectArgs {
    #[command(flatten)]
    pub stack: StackArgs,

    /// Runs of each stack, of which one that fails is enough: for what fails now and then
    #[arg(long, value_name = "N", default_value = "1")]
    pub runs: NonZeroU32,

    /// A run that takes longer has failed
    #[arg(long, value_name = "SECONDS", default_value = "600")]
    pub timeout: u32,

    #[command(flatten)]
    pub verbosity: VerbosityArgs,

    /// The command and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true)]
    pub command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    /// Configuration file: its sections as well [default: $QMPI_CONFIG]
    #[arg(short, long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
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

#[derive(Debug, Args)]
pub(crate) struct EnvArgs {
    #[command(flatten)]
    pub stack: StackArgs,

    #[command(flatten)]
    pub runtime: RuntimeArgs,

    /// For which reader: a shell of the Bourne family, csh or tcsh, fish; JSON; or a modulefile, for Environment Modules and Lmod
    #[arg(long, value_name = "SHELL", default_value = "sh")]
    pub shell: Syntax,

    #[command(flatten)]
    pub verbosity: VerbosityArgs,
}

/// How `qmpi env` writes variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Syntax {
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

#[derive(Debug, Args)]
#[group(id = "which", required = true, multiple = false, args = ["pid", "command"])]
pub(crate) struct PsArgs {
    /// The number of a launcher's process
    #[arg(value_name = "PID")]
    pub pid: Option<u32>,

    /// Answer in JSON
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub stack: StackArgs,

    /// COMMAND as for `run`
    #[arg(value_name = "COMMAND", last = true)]
    pub command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct AttachArgs {
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

#[derive(Debug, Args)]
pub(crate) struct CtlArgs {
    /// The number of a process, or `all`
    #[arg(value_name = "JOB")]
    pub job: ProcessChoice,

    #[command(subcommand)]
    pub action: CtlAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CtlAction {
    /// Show the layers that can be switched
    List {
        /// Answer in JSON
        #[arg(long)]
        json: bool,
    },
    /// Let calls go through these layers again
    Enable(SwitchedLayers),
    /// Let calls go past these layers
    Disable(SwitchedLayers),
}

#[derive(Debug, Args)]
pub(crate) struct SwitchedLayers {
    /// Their names as `list` shows them, or their numbers
    #[arg(value_name = "LAYER", required = true)]
    pub layers: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub stack: StackArgs,

    /// Answer in JSON
    #[arg(long)]
    pub json: bool,

    /// COMMAND as for `run`, a launcher or the program itself: would the stack get to every rank?
    #[arg(value_name = "COMMAND", last = true)]
    pub command: Vec<OsString>,
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
        let QmpiCommand::Run(run) = cli.unwrap().command else { panic!("run") };
        assert_eq!(run.command, ["mpiexec", "-n", "4", "-v", "./app", "--", "-x"]);
        assert_eq!((run.stack.tools, run.verbosity.verbose), (vec!["a".to_owned()], 0));
    }
}
