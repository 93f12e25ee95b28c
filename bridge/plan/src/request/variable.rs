//! Names of the environment variables that the runtime and the command read and set.

/// The stack, outermost tool first, separated by `,` or `:`; an element is a name, a path, or `NAME=PATH`.
pub const TOOL_LIST: &str = "QMPI_TOOL_LIST";

/// Directories, separated by `:`, in which names are looked up.
pub const TOOL_PATH: &str = "QMPI_TOOL_PATH";

/// The configuration file (see [`crate::config`]).
pub const CONFIG: &str = "QMPI_CONFIG";

/// Configuration files of the site, separated by `:` (see [`crate::request::site`]).
pub const SITE_CONFIG: &str = "QMPI_SITE_CONFIG";

/// What to do with a layer that cannot be set up: `abort` or `skip`.
pub const ON_ERROR: &str = "QMPI_ON_ERROR";

/// `past`: no layer sees calls with large counts as calls of its functions with `int` counts, whatever its section says.
pub const LARGE_COUNTS: &str = "QMPI_LARGE_COUNTS";

/// How much is said on stderr: `error`, `warn`, `info` or `debug`.
pub const LOG: &str = "QMPI_LOG";

/// `1`: all layers can be switched off and on while the program runs.
pub const CTL: &str = "QMPI_CTL";
/// Asks for a report: the directory that each rank writes its file into.
pub const REPORT: &str = "QMPI_REPORT";

/// In which processes the stack is set up: `mpi`, those that have an MPI, or `all`.
pub const PROCESSES: &str = "QMPI_PROCESSES";
/// Asks for the calls themselves, in files of the report's directory: `all`, `first:N` or `last:N`, each with `,buffers` if what is in buffers is wanted, too.
pub const TRACE: &str = "QMPI_TRACE";

/// How each line begins that says what a tool intercepts that registers itself.
pub const SURVEY_ANSWER: &str = "qmpi-survey";

/// The variable of the 2018 prototype, `path:path`. Its name is so general that other programs may use it for something
/// else: it counts only if nothing else names a stack and every element is a shared object.
pub const THESIS_TOOLS: &str = "TOOLS";

/// All that are ours.
pub const ALL: [&str; 11] =
    [TOOL_LIST, TOOL_PATH, CONFIG, SITE_CONFIG, ON_ERROR, LARGE_COUNTS, LOG, CTL, REPORT, TRACE, PROCESSES];
