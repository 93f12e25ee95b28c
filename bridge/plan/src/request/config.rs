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
//! switch = true                             # it can be switched off and on while the program runs
//! enabled = false                           # it is off at first; implies `switch`
//! filter = { every = 100, to = 60 }         # which calls it sees; implies `switch`
//!
//! [tool.of_the_program]
//! registered = true                         # the program registers this name: no file is looked for
//! ```
//!
//! Unknown keys are errors, so that a misspelt one is not silently without effect. The document is walked by hand rather than
//! deserialized: only so does every message know its line.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::num::NonZeroU32;
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use qmpi_abi::FnId;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::ValueFault;
use crate::nearest;
use crate::request::with;
use crate::{Filter, OwnCalls, PlanError, Processes, ProgramPmpi, RankSet, Switching, Wraps};

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolConfig {
    /// The file, relative paths already joined to the configuration file's directory.
    pub path: Option<PathBuf>,
    /// Variables that this tool alone sees.
    pub env: Vec<(String, String)>,
    /// Only these functions are intercepted.
    pub functions: Option<Vec<FnId>>,
    /// Only on these ranks.
    pub ranks: Option<RankSet>,
    /// Whether `MPI_Pcontrol` is delivered.
    pub pcontrol: bool,
    /// SONAMEs of libraries that must exist once per process.
    pub share: Vec<String>,
    /// Which functions that are not MPI's reach it.
    pub wraps: Wraps,
    /// Libraries that are loaded with it, before it; relative paths already joined, names without a `/` as they are.
    pub with: Vec<PathBuf>,
    /// Which layers see what it asks MPI for itself.
    pub own_calls: OwnCalls,
    /// Whether it can be switched off and on.
    pub switch: Option<Switching>,
    /// There is no file: the program, or a library of its, registers the name.
    pub registered: bool,
    /// What the tool does, in a line.
    pub about: Option<String>,
}

impl Default for ToolConfig {
    fn default() -> Self {
        Self {
            path: None,
            env: Vec::new(),
            functions: None,
            ranks: None,
            pcontrol: true,
            share: Vec::new(),
            wraps: Wraps::default(),
            with: Vec::new(),
            own_calls: OwnCalls::Visible,
            switch: None,
            registered: false,
            about: None,
        }
    }
}

const FILE_KEYS: &[&str] =
    &["stack", "stacks", "innermost", "search", "allowed", "program_pmpi", "processes", "mask", "tool"];
const TOOL_KEYS: &[&str] = &[
    "path",
    "env",
    "functions",
    "ranks",
    "pcontrol",
    "share",
    "wraps",
    "with",
    "own_calls",
    "switch",
    "enabled",
    "filter",
    "registered",
    "about",
];

impl Config {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// [`PlanError::ConfigRead`] and whatever [`Config::parse`] finds.
    pub fn read(path: &Path) -> Result<Self, PlanError> {
        let text = read_file(path).map_err(|source| PlanError::ConfigRead { path: path.to_owned(), source })?;
        Self::parse(path, &text)
    }

    /// Reads `text`, the contents of the file at `path`.
    ///
    /// # Errors
    /// The `Config…` variants of [`PlanError`], with the line.
    pub fn parse(path: &Path, text: &str) -> Result<Self, PlanError> {
        let document = Document { path, text };
        let table = DeTable::parse(text).map_err(|error| PlanError::ConfigSyntax {
            path: path.to_owned(),
            line: document.line(error.span().map_or(0, |span| span.start)),
            message: match error.message().lines().next().unwrap_or("not TOML") {
                message @ "duplicate key" => format!("{message} `{}`", document.key(error.span().unwrap_or_default())),
                message => message.to_owned(),
            },
        })?;
        let mut config = Self::default();
        for (key, value) in table.get_ref() {
            match key.get_ref().as_ref() {
                "stack" => config.stack = Some(document.names(value, "stack")?),
                "innermost" => config.innermost = Some(document.names(value, "innermost")?),
                "search" => config.search = document.directories(value, "search")?,
                "allowed" => config.allowed = Some(document.directories(value, "allowed")?),
                "stacks" => {
                    for (name, names) in document.table(value, "stacks", "a table of stacks, name = [\"a\", \"b\"]")? {
                        let full = format!("stacks.{}", name.get_ref());
                        config.stacks.insert(name.get_ref().to_string(), document.names(names, &full)?);
                    }
                }
                "mask" => config.mask = document.strings(value, "mask", NUL)?,
                "program_pmpi" => {
                    let word = document.string(value, "program_pmpi", ProgramPmpi::EXPECTED)?;
                    let fault = || ValueFault::Word(word.escape_debug().to_string(), ProgramPmpi::EXPECTED);
                    config.program_pmpi = ProgramPmpi::parse(word)
                        .ok_or_else(|| document.value(value.span(), "program_pmpi", fault()))?;
                }
                "processes" => {
                    let word = document.string(value, "processes", Processes::EXPECTED)?;
                    let fault = || ValueFault::Word(word.escape_debug().to_string(), Processes::EXPECTED);
                    config.processes =
                        Processes::of_file(word).ok_or_else(|| document.value(value.span(), "processes", fault()))?;
                }
                "tool" => {
                    for (name, section) in document.table(value, "tool", "a table of tools, [tool.NAME]")? {
                        document.no_characters(name.span(), "tool", name.get_ref(), TOOL_NAME)?;
                        config.tools.insert(name.get_ref().to_string(), document.tool(section, name.get_ref())?);
                    }
                }
                other => return Err(document.unknown(key, other.to_owned(), FILE_KEYS)),
            }
        }
        Ok(config)
    }
}

impl Config {
    /// This configuration over a weaker one: what it says itself, and of the other what it says nothing about. A section belongs to one of
    /// them as a whole. What the weaker one does not allow stays forbidden.
    #[must_use]
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

/// A set of characters that must not occur, and how to call it in a message.
type Forbidden = (&'static [char], &'static str);
const TOOL_NAME: Forbidden = (&[',', ':', '=', '/', '\0'], "`,`, `:`, `=` or `/`");
const ENV_NAME: Forbidden = (&['=', '\0'], "`=` or NUL");
const SONAME: Forbidden = (&['/', '\0'], "`/`: it is a SONAME such as \"libpapi.so.7\"");
const NUL: Forbidden = (&['\0'], "NUL");

/// A document and its name, for messages.
struct Document<'a> {
    path: &'a Path,
    text: &'a str,
}

type TomlValue<'i> = Spanned<DeValue<'i>>;

impl Document<'_> {
    fn tool(&self, section: &TomlValue<'_>, name: &str) -> Result<ToolConfig, PlanError> {
        let mut tool = ToolConfig::default();
        let (mut registered, mut switch, mut enabled, mut filter) = (None, None, None, None);
        for (key, value) in self.table(section, &format!("tool.{name}"), "a table of settings")? {
            let full = format!("tool.{name}.{}", key.get_ref());
            match key.get_ref().as_ref() {
                "path" => {
                    let path = self.filled(value, &full, "a string")?;
                    self.no_characters(value.span(), &full, path, NUL)?;
                    tool.path = Some(self.path.parent().unwrap_or(Path::new("")).join(path));
                }
                "env" => tool.env = self.env(value, &full)?,
                "functions" => tool.functions = Some(self.functions(value, &full)?),
                "ranks" => {
                    let text = self.string(value, &full, "a string such as \"0-3,8\"")?;
                    let ranks = text.parse::<RankSet>();
                    tool.ranks = Some(ranks.map_err(|fault| self.value(value.span(), &full, fault.into()))?);
                }
                "pcontrol" => tool.pcontrol = self.flag(value, &full)?,
                "with" => {
                    let files = self.strings(value, &full, NUL)?.into_iter().map(PathBuf::from);
                    let place = self.path.parent().unwrap_or(Path::new(""));
                    tool.with =
                        files.map(|file| if with::has_directory(&file) { place.join(file) } else { file }).collect();
                }
                "own_calls" => {
                    let word = self.string(value, &full, OwnCalls::EXPECTED)?;
                    let fault = || ValueFault::Word(word.escape_debug().to_string(), OwnCalls::EXPECTED);
                    tool.own_calls = OwnCalls::parse(word).ok_or_else(|| self.value(value.span(), &full, fault()))?;
                }
                "about" => tool.about = Some(self.filled(value, &full, "a string")?.to_owned()),
                "registered" => {
                    tool.registered = self.flag(value, &full)?;
                    registered = Some(value.span());
                }
                "switch" => switch = Some(self.flag(value, &full)?),
                "enabled" => enabled = Some((self.flag(value, &full)?, value.span())),
                "filter" => filter = Some((self.filter(value, &full)?, value.span())),
                "wraps" => tool.wraps = self.wraps(value, &full)?,
                "share" => tool.share = self.strings(value, &full, SONAME)?,
                _ => return Err(self.unknown(key, full, TOOL_KEYS)),
            }
        }
        tool.switch = match (switch, enabled, filter) {
            (Some(false), Some((false, span)), _) => {
                return Err(self.value(span, &format!("tool.{name}.enabled"), ValueFault::WithoutSwitch));
            }
            (Some(false), _, Some((_, span))) => {
                return Err(self.value(span, &format!("tool.{name}.filter"), ValueFault::FilterWithoutSwitch));
            }
            (None, None | Some((true, _)), None) | (Some(false), ..) => None,
            (_, enabled, filter) => Some(Switching {
                enabled: enabled.is_none_or(|(enabled, _)| enabled),
                filter: filter.map(|(filter, _)| Box::new(filter)),
            }),
        };
        match registered {
            Some(span) if tool.registered && tool.path.is_some() => {
                Err(self.value(span, &format!("tool.{name}.registered"), ValueFault::WithPath))
            }
            _ => Ok(tool),
        }
    }

    fn env(&self, value: &TomlValue<'_>, full: &str) -> Result<Vec<(String, String)>, PlanError> {
        let mut env = Vec::new();
        for (name, value) in self.table(value, full, "a table of strings, { NAME = \"value\" }")? {
            let full = format!("{full}.{}", name.get_ref());
            self.no_characters(name.span(), &full, name.get_ref(), ENV_NAME)?;
            let text = self.string(value, &full, "a string")?;
            self.no_characters(value.span(), &full, text, NUL)?;
            env.push((name.get_ref().to_string(), text.to_owned()));
        }
        Ok(env)
    }

    fn functions(&self, value: &TomlValue<'_>, full: &str) -> Result<Vec<FnId>, PlanError> {
        let function = |name: String| {
            FnId::by_name(&name).ok_or_else(|| {
                let nearest = nearest(&name, FnId::all().map(FnId::name)).map(str::to_owned);
                self.value(value.span(), full, ValueFault::Function { name, nearest })
            })
        };
        self.strings(value, full, NUL)?.into_iter().map(function).collect()
    }

    fn filter(&self, value: &TomlValue<'_>, full: &str) -> Result<Filter, PlanError> {
        let mut filter = Filter::default();
        for (key, value) in self.table(value, full, "a table of conditions, { every = 100 }")? {
            let full = format!("{full}.{}", key.get_ref());
            match key.get_ref().as_ref() {
                "every" => {
                    let integer = value.get_ref().as_integer().ok_or_else(|| self.typed(value, &full, "an integer"))?;
                    let number = u32::from_str_radix(integer.as_str(), integer.radix()).ok().and_then(NonZeroU32::new);
                    let fault = || ValueFault::Number("a number from 1 to 4294967295");
                    filter.every = number.ok_or_else(|| self.value(value.span(), &full, fault()))?;
                }
                "from" => filter.from = Some(self.seconds(value, &full)?),
                "to" => filter.to = Some(self.seconds(value, &full)?),
                "communicators" => {
                    let names = self.strings(value, &full, NUL)?;
                    if names.is_empty() {
                        return Err(self.value(value.span(), &full, ValueFault::Empty));
                    }
                    filter.communicators = Some(names);
                }
                _ => return Err(self.unknown(key, full, Filter::KEYS)),
            }
        }
        if filter.to.is_some_and(|to| to <= filter.from.unwrap_or_default()) {
            let fault = ValueFault::Number("later than `from`, and than 0");
            return Err(self.value(value.span(), &format!("{full}.to"), fault));
        }
        if filter == Filter::default() {
            return Err(self.value(value.span(), full, ValueFault::NoCondition));
        }
        Ok(filter)
    }

    /// A number of seconds.
    fn seconds(&self, value: &TomlValue<'_>, full: &str) -> Result<Duration, PlanError> {
        let integer = || value.get_ref().as_integer().and_then(|number| number.as_str().parse().ok());
        let float = || value.get_ref().as_float().and_then(|number| number.as_str().parse().ok());
        let seconds: f64 = integer().or_else(float).ok_or_else(|| self.typed(value, full, "a number of seconds"))?;
        let fault = |_| self.value(value.span(), full, ValueFault::Number("a number of seconds, 0 or more"));
        Duration::try_from_secs_f64(seconds).map_err(fault)
    }

    fn wraps(&self, value: &TomlValue<'_>, full: &str) -> Result<Wraps, PlanError> {
        const EXPECTED: &str = "\"all\", \"none\" or an array of strings, [\"open\", \"close\"]";
        match value.get_ref().as_str() {
            Some("all") => Ok(Wraps::All),
            Some("none") => Ok(Wraps::None),
            Some(text) => Err(self.value(value.span(), full, ValueFault::Wraps(text.to_owned()))),
            None if value.get_ref().as_array().is_none() => Err(self.typed(value, full, EXPECTED)),
            None => self.strings(value, full, NUL).map(Wraps::Names),
        }
    }

    /// Directories, relative ones below the file's.
    fn directories(&self, value: &TomlValue<'_>, full: &str) -> Result<Vec<PathBuf>, PlanError> {
        let place = self.path.parent().unwrap_or(Path::new(""));
        Ok(self.strings(value, full, NUL)?.iter().map(|directory| place.join(directory)).collect())
    }

    fn names(&self, value: &TomlValue<'_>, full: &str) -> Result<Vec<String>, PlanError> {
        self.strings(value, full, TOOL_NAME)
    }

    fn strings(&self, value: &TomlValue<'_>, full: &str, forbidden: Forbidden) -> Result<Vec<String>, PlanError> {
        const EXPECTED: &str = "an array of strings, [\"a\", \"b\"]";
        let array = value.get_ref().as_array().ok_or_else(|| self.typed(value, full, EXPECTED))?;
        array
            .iter()
            .map(|item| {
                let text = self.filled(item, full, EXPECTED)?;
                self.no_characters(item.span(), full, text, forbidden)?;
                Ok(text.to_owned())
            })
            .collect()
    }

    fn table<'v, 'i>(
        &self,
        value: &'v TomlValue<'i>,
        full: &str,
        expected: &'static str,
    ) -> Result<&'v DeTable<'i>, PlanError> {
        value.get_ref().as_table().ok_or_else(|| self.typed(value, full, expected))
    }

    fn string<'v>(&self, value: &'v TomlValue<'_>, full: &str, expected: &'static str) -> Result<&'v str, PlanError> {
        value.get_ref().as_str().ok_or_else(|| self.typed(value, full, expected))
    }

    fn flag(&self, value: &TomlValue<'_>, full: &str) -> Result<bool, PlanError> {
        value.get_ref().as_bool().ok_or_else(|| self.typed(value, full, "true or false"))
    }

    fn filled<'v>(&self, value: &'v TomlValue<'_>, full: &str, expected: &'static str) -> Result<&'v str, PlanError> {
        let text = self.string(value, full, expected)?;
        if text.trim().is_empty() { Err(self.value(value.span(), full, ValueFault::Empty)) } else { Ok(text) }
    }

    fn no_characters(
        &self,
        span: std::ops::Range<usize>,
        full: &str,
        text: &str,
        (characters, called): Forbidden,
    ) -> Result<(), PlanError> {
        if text.contains(characters) {
            return Err(self.value(span, full, ValueFault::Character(text.escape_debug().to_string(), called)));
        }
        Ok(())
    }

    fn unknown(
        &self,
        key: &Spanned<toml::de::DeString<'_>>,
        full: String,
        known: &'static [&'static str],
    ) -> PlanError {
        PlanError::ConfigKey {
            path: self.path.to_owned(),
            line: self.line(key.span().start),
            key: full,
            nearest: nearest(key.get_ref(), known.iter().copied())
                .and_then(|near| known.iter().copied().find(|&word| word == near)),
            known,
        }
    }

    fn typed(&self, value: &TomlValue<'_>, full: &str, expected: &'static str) -> PlanError {
        PlanError::ConfigType {
            path: self.path.to_owned(),
            line: self.line(value.span().start),
            key: full.to_owned(),
            expected,
            found: value.get_ref().type_str(),
        }
    }

    fn value(&self, span: std::ops::Range<usize>, full: &str, fault: ValueFault) -> PlanError {
        PlanError::ConfigValue { path: self.path.to_owned(), line: self.line(span.start), key: full.to_owned(), fault }
    }

    /// The key that stands there, with its section: what is before it on its line, below the last header.
    fn key(&self, span: Range<usize>) -> String {
        let before = self.text.get(..span.end).unwrap_or_default();
        let (above, line) = before.rsplit_once('\n').unwrap_or(("", before));
        let plain = |text: &str| text.trim().trim_start_matches('[').replace(['"', '\''], "");
        if line.contains('=') {
            // In an inline table.
            return plain(self.text.get(span).unwrap_or_default());
        }
        let header = above.lines().rev().map(|line| line.split('#').next().unwrap_or_default().trim());
        let header = header.filter_map(|line| line.strip_prefix('[')?.strip_suffix(']')).next();
        match header.filter(|_| !line.trim_start().starts_with('[')) {
            Some(header) => format!("{}.{}", plain(header.trim_end_matches(']')), plain(line)),
            None => plain(line),
        }
    }

    fn line(&self, offset: usize) -> usize {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        before.iter().filter(|&&byte| byte == b'\n').count() + 1
    }
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
        assert_eq!(error.hint().unwrap(), "did you mean `MPI_Send`?");
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
        assert!(!outer.pcontrol);
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
            let given = error.hint().unwrap();
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
