//! The configuration file: the default order of the stack and the settings of each tool.
//!
//! ```toml
//! stack = ["outer", "heatmap", "inner"]     # outermost first; a tool may appear more than once
//!
//! program_pmpi = "chain"                    # the program's own calls of PMPI_f enter the stack; "past", or "auto" (the default)
//! processes = "all"                         # in processes without MPI, too; "mpi" (the default)
//!
//! mask = ["seed=\\d+"]                       # what differs in every run, for `qmpi compare`
//!
//! [stacks]                                  # for tools that send some calls another way than others
//! rows = ["outer", "heatmap"]
//!
//! [tool.outer]
//! path = "/opt/mpiP/lib/libmpiP.so"         # relative: to this file's directory; no `~`, no `$VAR`
//! env = { MPIP = "-k 2" }                   # seen by this tool only
//! functions = ["MPI_Send", "MPI_Recv"]      # intercept only these
//! ranks = "0-3,8"                           # only on these ranks
//! pcontrol = true                           # deliver MPI_Pcontrol (the default)
//! share = ["libpapi.so.7"]                  # libraries that must exist once per process
//! wraps = ["open", "close"]                 # functions that are not MPI's; "all", "none"; by default those that its file shows
//! with = ["libinit.so"]                     # libraries that are loaded with it, before it
//! own_calls = "hidden"                      # what it asks MPI for itself goes past the layers below
//! large_counts = "past"                     # it sees no call of MPI_Send_c, which it has no wrapper of, as one of MPI_Send
//! sessions = "world"                        # the first session calls its MPI_Init
//! fortran = "past"                          # its C functions see no Fortran calls
//! switch = true                             # it can be switched off and on while the program runs
//! enabled = false                           # it is off at first; implies `switch`
//! filter = { every = 100, to = 60 }         # which calls it sees; implies `switch`
//!
//! [tool.of_the_program]
//! registered = true                         # the program registers this name: no file is looked for
//! ```
//!
//! A new setting is a field of [`Config`] or [`ToolConfig`], and the line that reads it.

mod document;

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::num::NonZeroU32;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use qmpi_abi::FnId;
use toml::de::DeTable;

use crate::nearest::did_you_mean;
use crate::{
    Filter, FortranCalls, LargeCountCalls, OwnCalls, PlanError, Processes, ProgramPmpi, RankSet, SessionCalls,
    Switching, Wraps,
};
use document::{CORRECT, ConfigItem, ConfigTable, Document, Forbidden, NUL};

/// What a configuration file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    /// The default order, outermost first; `None` if the file has no `stack`.
    pub stack: Option<Vec<String>>,
    /// Named stacks, outermost first, for tools that send calls through one of several.
    pub stacks: BTreeMap<String, Vec<String>>,
    /// Layers that stand innermost in each stack, whatever it is, outermost first; `None` if the file has no `innermost`.
    pub innermost: Option<Vec<String>>,
    /// Directories in which names are looked up.
    pub search: Vec<PathBuf>,
    /// Tools may come from these directories only; `None`: from anywhere.
    pub allowed: Option<Vec<PathBuf>>,
    /// Where the program's own calls of `PMPI_f` go.
    pub program_pmpi: ProgramPmpi,
    /// In which processes the stack is set up: the command passes it on as a variable, which each process can read at once.
    pub processes: Processes,
    /// Regular expressions: what they match differs in every run, and is not compared by `qmpi compare`.
    pub mask: Vec<String>,
    /// The sections `[tool.NAME]`.
    pub tools: BTreeMap<String, ToolConfig>,
}

/// One section `[tool.NAME]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolConfig {
    /// The file, relative paths already joined to the configuration file's directory.
    pub path: Option<PathBuf>,
    /// Variables that this tool alone sees.
    pub env: Vec<(String, String)>,
    /// Only these functions are intercepted.
    pub functions: Option<Vec<FnId>>,
    /// Only on these ranks.
    pub ranks: Option<RankSet>,
    /// Whether `MPI_Pcontrol` goes past it (`pcontrol = false`).
    pub skips_pcontrol: bool,
    /// SONAMEs of libraries that must exist once per process.
    pub share: Vec<String>,
    /// Which functions that are not MPI's reach it.
    pub wraps: Wraps,
    /// Libraries that are loaded with it, before it; relative paths already joined, names without a `/` as they are.
    pub with: Vec<PathBuf>,
    /// Which layers see what it asks MPI for itself.
    pub own_calls: OwnCalls,
    /// What it sees of functions with large counts that it has with `int` counts alone.
    pub large_counts: LargeCountCalls,
    /// What it sees of programs that use sessions.
    pub sessions: SessionCalls,
    /// What its C functions see of Fortran calls.
    pub fortran: FortranCalls,
    /// Whether it can be switched off and on.
    pub switch: Option<Switching>,
    /// There is no file: the program, or a library of its, registers the name.
    pub registered: bool,
    /// What the tool does, in a line.
    pub about: Option<String>,
}

const TOOL_NAME: Forbidden = (&[',', ':', '=', '/', '\0'], "`,`, `:`, `=` or `/`");
const ENV_NAME: Forbidden = (&['=', '\0'], "`=` or NUL");
const SONAME: Forbidden = (&['/', '\0'], "`/`: it is a SONAME such as \"libpapi.so.7\"");

impl Config {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// It cannot be read, and whatever [`Config::parse`] finds.
    pub fn read(path: &Path) -> Result<Self, PlanError> {
        let error = |source| {
            let message = format!("cannot read the configuration file {}: {source}", path.display());
            PlanError::new(message, "give another file with -c or in QMPI_CONFIG")
        };
        Self::parse(path, &read_file(path).map_err(error)?)
    }

    /// Reads `text`, the contents of the file at `path`.
    ///
    /// # Errors
    /// What is wrong in it, with the line.
    pub fn parse(path: &Path, text: &str) -> Result<Self, PlanError> {
        let document = Document { path, text };
        let table = DeTable::parse(text).map_err(|error| {
            let span = error.span().unwrap_or_default();
            let message = match error.message().lines().next().unwrap_or("not TOML") {
                message @ "duplicate key" => format!("{message} `{}`", document.key(span.clone())),
                message => message.to_owned(),
            };
            let hint = "the file is TOML: `stack = [\"a\", \"b\"]`, `[tool.a]`, `path = \"...\"`";
            document.error(span, message, hint)
        })?;
        let tools = |item: &ConfigItem<'_>| {
            item.map("a table of tools, [tool.NAME]", |name, section| {
                item.has_none_of(TOOL_NAME, name.get_ref(), name.span())?;
                ToolConfig::read(section)
            })
        };
        let names = |item: &ConfigItem<'_>| item.strings(TOOL_NAME);
        let stacks = |item: &ConfigItem<'_>| {
            item.map("a table of stacks, name = [\"a\", \"b\"]", |_, item| item.strings(TOOL_NAME))
        };
        let mut file = ConfigTable::new(&document, "", table.get_ref());
        let config = Self {
            stack: file.get("stack", names)?,
            stacks: file.get("stacks", stacks)?.unwrap_or_default(),
            innermost: file.get("innermost", names)?,
            search: file.get("search", ConfigItem::directories)?.unwrap_or_default(),
            allowed: file.get("allowed", ConfigItem::directories)?,
            program_pmpi: file.get("program_pmpi", ConfigItem::word)?.unwrap_or_default(),
            processes: file.get("processes", ConfigItem::word)?.unwrap_or_default(),
            mask: file.get("mask", |item| item.strings(NUL))?.unwrap_or_default(),
            tools: file.get("tool", tools)?.unwrap_or_default(),
        };
        file.end()?;
        Ok(config)
    }

    /// This configuration over a weaker one: what it says itself, and of the other what it says nothing about. A section belongs to one of
    /// them as a whole. What the weaker one does not allow stays forbidden.
    pub fn over(self, below: Self) -> Self {
        let is_default = self.program_pmpi == ProgramPmpi::default();
        Self {
            stack: self.stack.or(below.stack),
            stacks: below.stacks.into_iter().chain(self.stacks).collect(),
            innermost: self.innermost.or(below.innermost),
            search: self.search.into_iter().chain(below.search).collect(),
            allowed: below.allowed.or(self.allowed),
            program_pmpi: if is_default { below.program_pmpi } else { self.program_pmpi },
            mask: below.mask.into_iter().chain(self.mask).collect(),
            processes: if self.processes == Processes::default() { below.processes } else { self.processes },
            tools: below.tools.into_iter().chain(self.tools).collect(),
        }
    }
}

/// A configuration of a hundred tools has 20 KB; each process of a job reads it.
const LARGEST: u64 = 1 << 20;

/// Reads a file without waiting: opening a FIFO or reading a device could block for ever, or never end.
fn read_file(path: &Path) -> io::Result<String> {
    let unusable = |reason: &str| io::Error::new(io::ErrorKind::InvalidInput, reason.to_owned());
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    // Asked of the open file: the name may be another one's by now.
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(unusable("it is a directory"));
    }
    if !metadata.is_file() {
        return Err(unusable("it is not a regular file"));
    }
    if metadata.len() > LARGEST {
        return Err(unusable("it is larger than 1 MiB"));
    }
    // It may grow while it is read, and files of /proc say that they have no bytes.
    let mut text = String::new();
    file.take(LARGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LARGEST { Err(unusable("it is larger than 1 MiB")) } else { Ok(text) }
}

/// Is a file named with a `/`?
pub(crate) fn has_directory(file: &Path) -> bool {
    file.as_os_str().as_encoded_bytes().contains(&b'/')
}

impl ToolConfig {
    fn read(item: &ConfigItem<'_>) -> Result<Self, PlanError> {
        let mut section = item.table("a table of settings")?;
        let path = section.get("path", ConfigItem::path)?;
        let has_path = path.is_some();
        let tool = Self {
            path,
            env: section.get("env", env)?.unwrap_or_default(),
            functions: section.get("functions", functions)?,
            ranks: section.get("ranks", ranks)?,
            skips_pcontrol: section.get("pcontrol", ConfigItem::flag)? == Some(false),
            share: section.get("share", |item| item.strings(SONAME))?.unwrap_or_default(),
            wraps: section.get("wraps", wraps)?.unwrap_or_default(),
            with: section.get("with", with)?.unwrap_or_default(),
            own_calls: section.get("own_calls", ConfigItem::word)?.unwrap_or_default(),
            large_counts: section.get("large_counts", ConfigItem::word)?.unwrap_or_default(),
            sessions: section.get("sessions", ConfigItem::word)?.unwrap_or_default(),
            fortran: section.get("fortran", ConfigItem::word)?.unwrap_or_default(),
            switch: switching(&mut section)?,
            registered: section.get("registered", |item| registered(item, has_path))?.unwrap_or_default(),
            about: section.get("about", |item| item.text("a string", NUL).map(str::to_owned))?,
        };
        section.end()?;
        Ok(tool)
    }
}

fn env(item: &ConfigItem<'_>) -> Result<Vec<(String, String)>, PlanError> {
    let variables = item.map("a table of strings, { NAME = \"value\" }", |name, item| {
        item.has_none_of(ENV_NAME, name.get_ref(), name.span())?;
        item.value("a string", NUL).map(str::to_owned)
    })?;
    Ok(variables.into_iter().collect())
}

fn functions(item: &ConfigItem<'_>) -> Result<Vec<FnId>, PlanError> {
    let function = |name: &String| {
        FnId::by_name(name).ok_or_else(|| {
            let hint = did_you_mean(name, FnId::all().map(FnId::name));
            let hint = hint.unwrap_or_else(|| "write C names, such as MPI_Send".into());
            item.wrong(format!("`{name}` is no MPI function"), hint)
        })
    };
    item.strings(NUL)?.iter().map(function).collect()
}

fn ranks(item: &ConfigItem<'_>) -> Result<RankSet, PlanError> {
    let ranks = item.string("a string such as \"0-3,8\"")?.parse::<RankSet>();
    ranks.map_err(|error| item.wrong(&error, error.hint()))
}

fn wraps(item: &ConfigItem<'_>) -> Result<Wraps, PlanError> {
    match item.string("\"all\", \"none\" or an array of strings, [\"open\", \"close\"]") {
        Ok("all") => Ok(Wraps::All),
        Ok("none") => Ok(Wraps::None),
        Ok(text) => {
            let fault = format!("`{text}` is neither \"all\" nor \"none\"");
            Err(item.wrong(fault, "list functions: [\"open\", \"close\"]"))
        }
        Err(_) if item.is_array() => item.strings(NUL).map(Wraps::Names),
        Err(error) => Err(error),
    }
}

fn with(item: &ConfigItem<'_>) -> Result<Vec<PathBuf>, PlanError> {
    let place = |file: PathBuf| if has_directory(&file) { item.below_directory(&file) } else { file };
    Ok(item.strings(NUL)?.into_iter().map(PathBuf::from).map(place).collect())
}

fn registered(item: &ConfigItem<'_>, has_path: bool) -> Result<bool, PlanError> {
    let is_registered = item.flag()?;
    if is_registered && has_path {
        return Err(item.wrong("a tool that the program registers has no `path`", CORRECT));
    }
    Ok(is_registered)
}

/// `switch`, and `enabled` and `filter`, which imply it.
fn switching(section: &mut ConfigTable<'_>) -> Result<Option<Switching>, PlanError> {
    let switch = section.get("switch", ConfigItem::flag)?;
    let enabled = section.get("enabled", |item| match item.flag()? {
        false if switch == Some(false) => Err(item.wrong(
            "a layer that cannot be switched on would never be used",
            "write switch = true, or leave the tool out of the stack",
        )),
        enabled => Ok(enabled),
    })?;
    let filter = section.get("filter", |item| match filter(item)? {
        _ if switch == Some(false) => {
            Err(item.wrong("a layer that cannot be switched off cannot have a filter", "leave out switch = false"))
        }
        filter => Ok(Box::new(filter)),
    })?;
    let is_switched = switch == Some(true) || enabled == Some(false) || filter.is_some();
    Ok(is_switched.then(|| Switching { enabled: enabled != Some(false), filter }))
}

fn filter(item: &ConfigItem<'_>) -> Result<Filter, PlanError> {
    let mut conditions = item.table("a table of conditions, { every = 100 }")?;
    let every = conditions.get("every", ConfigItem::count)?.unwrap_or(NonZeroU32::MIN);
    let from = conditions.get("from", ConfigItem::seconds)?;
    let to = conditions.get("to", |item| match item.seconds()? {
        to if to <= from.unwrap_or_default() => Err(item.wrong("it must be later than `from`, and than 0", CORRECT)),
        to => Ok(to),
    })?;
    let communicators = conditions.get("communicators", |item| match item.strings(NUL)? {
        names if names.is_empty() => Err(item.wrong("must not be empty", CORRECT)),
        names => Ok(names),
    })?;
    let (known, filter) = (conditions.end()?, Filter { every, from, to, communicators });
    if filter == Filter::default() {
        return Err(item.wrong("a filter needs a condition", format!("write one of {known}")));
    }
    Ok(filter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, PlanError> {
        Config::parse(Path::new("/conf/qmpi.toml"), text)
    }

    #[test]
    fn misspelt_functions() {
        let error = parse("[tool.a]\nfunctions = [\"MPI_Send\", \"MPI_send\"]").unwrap_err();
        assert_eq!(error.to_string(), "/conf/qmpi.toml:2: `tool.a.functions`: `MPI_send` is no MPI function");
        assert_eq!(error.hint(), "did you mean `MPI_Send`?");
    }

    #[test]
    fn keys_that_stand_twice() {
        for (text, message) in [
            ("stack = []\nstack = []", "2: duplicate key `stack`"),
            ("[tool.a]\npath = \"x\"\nranks = \"0\"\npath = \"y\"", "4: duplicate key `tool.a.path`"),
            ("[tool.a]\npath = \"x\"\n[tool.b]\n[tool.a]\nranks = \"0\"", "4: duplicate key `tool.a`"),
            ("[tool.a]\nenv = { A = \"1\", \"A\" = \"2\" }", "2: duplicate key `A`"),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), format!("/conf/qmpi.toml:{message}"));
        }
    }

    #[test]
    fn every_key() {
        let config = parse(
            r#"
            stack = ["outer", "inner", "outer"]
            mask = ["seed=\\d+"]
            [tool.outer]
            path = "lib/libmpiP.so"
            env = { MPIP = "-k 2", A = "" }
            functions = ["MPI_Send"]
            ranks = "0-3,8"
            pcontrol = false
            share = ["libpapi.so.7"]
            with = ["libinit.so", "./sub/libtwo.so"]
            own_calls = "hidden"
            [tool.inner]
            path = "/opt/inner.so"
            "#,
        )
        .unwrap();
        assert_eq!(config.stack.unwrap(), ["outer", "inner", "outer"]);
        assert_eq!(config.mask, ["seed=\\d+"]);
        let outer = &config.tools["outer"];
        assert_eq!(outer.path.as_deref(), Some(Path::new("/conf/lib/libmpiP.so")));
        assert_eq!(outer.env, [("A".into(), String::new()), ("MPIP".into(), "-k 2".into())]);
        assert_eq!(outer.functions, Some(vec![FnId::by_name("MPI_Send").unwrap()]));
        assert_eq!(outer.ranks.as_ref().unwrap().to_string(), "0-3,8");
        assert!(outer.skips_pcontrol);
        assert_eq!(outer.share, ["libpapi.so.7"]);
        assert_eq!(outer.with, [PathBuf::from("libinit.so"), "/conf/sub/libtwo.so".into()]);
        assert_eq!(outer.own_calls, OwnCalls::Hidden);
        let inner = &config.tools["inner"];
        assert_eq!(*inner, ToolConfig { path: Some("/opt/inner.so".into()), ..ToolConfig::default() });
    }

    #[test]
    fn an_empty_file_says_nothing() {
        assert_eq!(parse("# nothing\n").unwrap(), Config::default());
        assert_eq!(parse("stack = []").unwrap().stack, Some(Vec::new()));
    }

    #[test]
    fn errors_know_file_line_and_key() {
        for (text, message, hint) in [
            ("\nstak = []", "2: unknown key `stak`", "did you mean `stack`?"),
            ("[tool.a]\npth = \"x\"", "2: unknown key `tool.a.pth`", "did you mean `path`?"),
            ("[tool.a]\nzzz = 1", "2: unknown key `tool.a.zzz`", "valid here: path, env, functions,"),
            ("[tools.a]", "1: unknown key `tools`", "did you mean `tool`?"),
            ("stack = \"a\"", "1: `stack` must be an array of strings, [\"a\", \"b\"], not string", ""),
            ("stack = [\n1]", "2: `stack` must be an array of strings", ""),
            ("stack = [\"\"]", "1: `stack`: must not be empty", ""),
            ("stack = [\"a=b\"]", "1: `stack`: `a=b` must not contain", ""),
            ("tool = 1", "1: `tool` must be a table of tools, [tool.NAME], not integer", ""),
            ("[tool.\"a/b\"]", "1: `tool`: `a/b` must not contain", ""),
            ("[tool]\na = 1", "2: `tool.a` must be a table of settings, not integer", ""),
            ("[tool.a]\nenv = { B = 1 }", "2: `tool.a.env.B` must be a string, not integer", ""),
            ("[tool.a]\nenv = { \"B=\" = \"\" }", "2: `tool.a.env.B=`: `B=` must not contain", ""),
            ("[tool.a]\nranks = \"3-1\"", "2: `tool.a.ranks`: range `3-1` ends before it begins", "write for example"),
            ("[tool.a]\nranks = 3", "2: `tool.a.ranks` must be a string such as \"0-3,8\", not integer", ""),
            ("[tool.a]\npcontrol = 1", "2: `tool.a.pcontrol` must be true or false, not integer", ""),
            ("[tool.a]\nshare = [\"/x/y.so\"]", "2: `tool.a.share`: `/x/y.so` must not contain `/`", ""),
            ("[tool.a]\nwith = \"a.so\"", "2: `tool.a.with` must be an array of strings", ""),
            ("[tool.a]\nwith = [\"\"]", "2: `tool.a.with`: must not be empty", ""),
            ("[tool.a]\nown_calls = true", "2: `tool.a.own_calls` must be \"visible\" or \"hidden\", not boolean", ""),
            (
                "[tool.a]\nown_calls = \"hiden\"",
                "2: `tool.a.own_calls`: `hiden` is not \"visible\" or \"hidden\"",
                "write \"visible\" or \"hidden\"",
            ),
            ("[tool.a]\nswitch = 1", "2: `tool.a.switch` must be true or false, not integer", ""),
            (
                "[tool.a]\nswitch = false\nenabled = false",
                "3: `tool.a.enabled`: a layer that cannot be switched on would never be used",
                "write switch = true",
            ),
            ("[tool.a]\npath = \"\\u0000\"", "2: `tool.a.path`: `\\0` must not contain NUL", ""),
            ("a = [", "1: ", "the file is TOML"),
            ("\n\nstack = [\"a\"]\nstack = [\"b\"]", "4: ", "the file is TOML"),
        ] {
            let error = parse(text).unwrap_err();
            let line = error.to_string();
            assert!(line.starts_with(&format!("/conf/qmpi.toml:{message}")), "{text:?}: {line}");
            assert!(!line.contains('\n'), "{line}");
            let given = error.hint();
            assert!(given.starts_with(hint), "{text:?}: {given}");
        }
    }

    #[test]
    fn layers_that_can_be_switched() {
        let switch = |text: &str| parse(&format!("[tool.a]\n{text}")).unwrap().tools["a"].switch.clone();
        assert_eq!((switch(""), switch("switch = false"), switch("enabled = true")), (None, None, None));
        assert_eq!(switch("switch = true"), Some(Switching::ON));
        assert_eq!(switch("enabled = true\nswitch = true"), Some(Switching::ON));
        assert_eq!(switch("enabled = false"), Some(Switching { enabled: false, filter: None }));
        assert_eq!(switch("enabled = false\nswitch = true"), Some(Switching { enabled: false, filter: None }));
    }

    #[test]
    fn a_missing_file() {
        let error = Config::read(Path::new("/nonexistent/qmpi.toml")).unwrap_err();
        assert!(error.to_string().starts_with("cannot read the configuration file /nonexistent/qmpi.toml: "));
    }
    #[test]
    fn what_is_no_small_file_is_an_error_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::File::create(at("large")).unwrap().set_len(20 << 20).unwrap();
        std::fs::write(at("longest"), " ".repeat(LARGEST as usize)).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(at("fifo")).status().unwrap().success());
        let start = std::time::Instant::now();
        for (path, reason) in [
            (at("large"), "it is larger than 1 MiB"),
            (at("fifo"), "it is not a regular file"),
            (PathBuf::from("/dev/zero"), "it is not a regular file"),
            (directory.path().to_owned(), "it is a directory"),
        ] {
            let error = Config::read(&path).unwrap_err().to_string();
            assert!(error.ends_with(reason), "{error}");
        }
        assert!(start.elapsed() < std::time::Duration::from_secs(1));
        assert_eq!(Config::read(&at("longest")).unwrap(), Config::default());
    }
}
