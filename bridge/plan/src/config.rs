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
use toml::de::{DeString, DeTable, DeValue};

use crate::fault::{ConfigFault, ValueFault};
use crate::nearest::nearest;
use crate::{
    Filter, FortranCalls, LargeCountCalls, OwnCalls, PlanError, Processes, ProgramPmpi, RankSet, SessionCalls,
    SettingWord, Switching, Wraps,
};

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
            large_counts: LargeCountCalls::Seen,
            sessions: SessionCalls::Alone,
            fortran: FortranCalls::Seen,
            switch: None,
            registered: false,
            about: None,
        }
    }
}

const FILE_KEYS: &[&str] =
    &["stack", "stacks", "innermost", "search", "allowed", "program_pmpi", "processes", "mask", "tool"];
const FILTER_KEYS: &[&str] = &["every", "from", "to", "communicators"];
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
    "large_counts",
    "sessions",
    "fortran",
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
        let table = DeTable::parse(text).map_err(|error| {
            let span = error.span().unwrap_or_default();
            let message = match error.message().lines().next().unwrap_or("not TOML") {
                message @ "duplicate key" => format!("{message} `{}`", document.key(span.clone())),
                message => message.to_owned(),
            };
            document.error(span, ConfigFault::Syntax(message))
        })?;
        let mut config = Self::default();
        for (key, value) in table.get_ref() {
            let item = ConfigItem { document: &document, key: key.get_ref().to_string(), value };
            match &*item.key {
                "stack" => config.stack = Some(item.strings(TOOL_NAME)?),
                "innermost" => config.innermost = Some(item.strings(TOOL_NAME)?),
                "search" => config.search = item.directories()?,
                "allowed" => config.allowed = Some(item.directories()?),
                "stacks" => {
                    for (name, names) in item.table("a table of stacks, name = [\"a\", \"b\"]")? {
                        config.stacks.insert(name.get_ref().to_string(), names.strings(TOOL_NAME)?);
                    }
                }
                "mask" => config.mask = item.strings(NUL)?,
                "program_pmpi" => config.program_pmpi = item.word()?,
                "processes" => config.processes = item.word()?,
                "tool" => {
                    for (name, section) in item.table("a table of tools, [tool.NAME]")? {
                        item.has_none_of(TOOL_NAME, name.get_ref(), name.span())?;
                        config.tools.insert(name.get_ref().to_string(), section.tool()?);
                    }
                }
                _ => return Err(item.unknown(key, FILE_KEYS)),
            }
        }
        Ok(config)
    }

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

/// Is a file named with a `/`?
pub(crate) fn has_directory(file: &Path) -> bool {
    file.as_os_str().as_encoded_bytes().contains(&b'/')
}

/// A value of a document.
struct ConfigItem<'d> {
    document: &'d Document<'d>,
    /// Its key, with the section.
    key: String,
    value: &'d Spanned<DeValue<'d>>,
}

impl<'d> ConfigItem<'d> {
    fn tool(&self) -> Result<ToolConfig, PlanError> {
        let mut tool = ToolConfig::default();
        let (mut registered, mut switch, mut enabled, mut filter) = (None, None, None, None);
        for (key, item) in self.table("a table of settings")? {
            match key.get_ref().as_ref() {
                "path" => {
                    let path = item.filled("a string")?;
                    item.has_none_of(NUL, path, item.value.span())?;
                    tool.path = Some(self.document.directory().join(path));
                }
                "env" => tool.env = item.env()?,
                "functions" => tool.functions = Some(item.functions()?),
                "ranks" => {
                    let ranks = item.string("a string such as \"0-3,8\"")?.parse::<RankSet>();
                    tool.ranks = Some(ranks.map_err(|fault| item.wrong(fault.into()))?);
                }
                "pcontrol" => tool.pcontrol = item.flag()?,
                "with" => {
                    let place = |file: PathBuf| {
                        if has_directory(&file) { self.document.directory().join(file) } else { file }
                    };
                    tool.with = item.strings(NUL)?.into_iter().map(PathBuf::from).map(place).collect();
                }
                "own_calls" => tool.own_calls = item.word()?,
                "large_counts" => tool.large_counts = item.word()?,
                "sessions" => tool.sessions = item.word()?,
                "fortran" => tool.fortran = item.word()?,
                "about" => tool.about = Some(item.filled("a string")?.to_owned()),
                "registered" => {
                    tool.registered = item.flag()?;
                    registered = Some(item);
                }
                "switch" => switch = Some(item.flag()?),
                "enabled" => enabled = Some((item.flag()?, item)),
                "filter" => filter = Some((item.filter()?, item)),
                "wraps" => tool.wraps = item.wraps()?,
                "share" => tool.share = item.strings(SONAME)?,
                _ => return Err(item.unknown(key, TOOL_KEYS)),
            }
        }
        tool.switch = match (switch, enabled, filter) {
            (Some(false), Some((false, item)), _) => return Err(item.wrong(ValueFault::WithoutSwitch)),
            (Some(false), _, Some((_, item))) => return Err(item.wrong(ValueFault::FilterWithoutSwitch)),
            (None, None | Some((true, _)), None) | (Some(false), ..) => None,
            (_, enabled, filter) => Some(Switching {
                enabled: enabled.is_none_or(|(enabled, _)| enabled),
                filter: filter.map(|(filter, _)| Box::new(filter)),
            }),
        };
        match registered {
            Some(item) if tool.registered && tool.path.is_some() => Err(item.wrong(ValueFault::WithPath)),
            _ => Ok(tool),
        }
    }

    fn env(&self) -> Result<Vec<(String, String)>, PlanError> {
        let mut env = Vec::new();
        for (name, item) in self.table("a table of strings, { NAME = \"value\" }")? {
            item.has_none_of(ENV_NAME, name.get_ref(), name.span())?;
            let text = item.string("a string")?;
            item.has_none_of(NUL, text, item.value.span())?;
            env.push((name.get_ref().to_string(), text.to_owned()));
        }
        Ok(env)
    }

    fn functions(&self) -> Result<Vec<FnId>, PlanError> {
        let function = |name: String| {
            FnId::by_name(&name).ok_or_else(|| {
                let nearest = nearest(&name, FnId::all().map(FnId::name));
                self.wrong(ValueFault::Function(name, nearest))
            })
        };
        self.strings(NUL)?.into_iter().map(function).collect()
    }

    fn filter(&self) -> Result<Filter, PlanError> {
        let mut filter = Filter::default();
        for (key, item) in self.table("a table of conditions, { every = 100 }")? {
            match key.get_ref().as_ref() {
                "every" => {
                    let integer = item.value.get_ref().as_integer().ok_or_else(|| item.not("an integer"))?;
                    let number = u32::from_str_radix(integer.as_str(), integer.radix()).ok().and_then(NonZeroU32::new);
                    let fault = ValueFault::Number("a number from 1 to 4294967295");
                    filter.every = number.ok_or_else(|| item.wrong(fault))?;
                }
                "from" => filter.from = Some(item.seconds()?),
                "to" => filter.to = Some(item.seconds()?),
                "communicators" => {
                    let names = item.strings(NUL)?;
                    if names.is_empty() {
                        return Err(item.wrong(ValueFault::Empty));
                    }
                    filter.communicators = Some(names);
                }
                _ => return Err(item.unknown(key, FILTER_KEYS)),
            }
        }
        if filter.to.is_some_and(|to| to <= filter.from.unwrap_or_default()) {
            let fault =
                ConfigFault::Value(format!("{}.to", self.key), ValueFault::Number("later than `from`, and than 0"));
            return Err(self.document.error(self.value.span(), fault));
        }
        if filter == Filter::default() {
            return Err(self.wrong(ValueFault::NoCondition(FILTER_KEYS)));
        }
        Ok(filter)
    }

    /// A number of seconds.
    fn seconds(&self) -> Result<Duration, PlanError> {
        let integer = || self.value.get_ref().as_integer().and_then(|number| number.as_str().parse().ok());
        let float = || self.value.get_ref().as_float().and_then(|number| number.as_str().parse().ok());
        let seconds: f64 = integer().or_else(float).ok_or_else(|| self.not("a number of seconds"))?;
        let fault = |_| self.wrong(ValueFault::Number("a number of seconds, 0 or more"));
        Duration::try_from_secs_f64(seconds).map_err(fault)
    }

    fn wraps(&self) -> Result<Wraps, PlanError> {
        match self.value.get_ref().as_str() {
            Some("all") => Ok(Wraps::All),
            Some("none") => Ok(Wraps::None),
            Some(text) => Err(self.wrong(ValueFault::Wraps(text.to_owned()))),
            None if self.value.get_ref().as_array().is_none() => {
                Err(self.not("\"all\", \"none\" or an array of strings, [\"open\", \"close\"]"))
            }
            None => self.strings(NUL).map(Wraps::Names),
        }
    }

    /// One of the words of this setting.
    fn word<W: SettingWord>(&self) -> Result<W, PlanError> {
        let words: Vec<String> = W::WORDS.iter().map(|(word, _)| format!("\"{word}\"")).collect();
        let (last, first) =
            words.split_last().map_or(("", Vec::new()), |(last, first)| (last.as_str(), first.to_vec()));
        let expected = format!("{} or {last}", first.join(", "));
        let word = self.string(&expected)?;
        W::of_word(word).ok_or_else(|| self.wrong(ValueFault::Word(word.escape_debug().to_string(), expected)))
    }

    /// Directories, relative ones below the file's.
    fn directories(&self) -> Result<Vec<PathBuf>, PlanError> {
        Ok(self.strings(NUL)?.iter().map(|directory| self.document.directory().join(directory)).collect())
    }

    fn strings(&self, forbidden: Forbidden) -> Result<Vec<String>, PlanError> {
        const EXPECTED: &str = "an array of strings, [\"a\", \"b\"]";
        let array = self.value.get_ref().as_array().ok_or_else(|| self.not(EXPECTED))?;
        let string = |value| {
            let item = ConfigItem { document: self.document, key: self.key.clone(), value };
            let text = item.filled(EXPECTED)?;
            item.has_none_of(forbidden, text, value.span())?;
            Ok(text.to_owned())
        };
        array.iter().map(string).collect()
    }

    /// The keys of a table, and what they stand for.
    fn table(
        &self,
        expected: &str,
    ) -> Result<impl Iterator<Item = (&'d Spanned<DeString<'d>>, ConfigItem<'d>)>, PlanError> {
        let table = self.value.get_ref().as_table().ok_or_else(|| self.not(expected))?;
        let (document, section) = (self.document, self.key.clone());
        let item = move |(key, value): (&'d Spanned<DeString<'d>>, _)| {
            (key, ConfigItem { document, key: format!("{section}.{}", key.get_ref()), value })
        };
        Ok(table.iter().map(item))
    }

    fn string(&self, expected: &str) -> Result<&'d str, PlanError> {
        self.value.get_ref().as_str().ok_or_else(|| self.not(expected))
    }

    fn flag(&self) -> Result<bool, PlanError> {
        self.value.get_ref().as_bool().ok_or_else(|| self.not("true or false"))
    }

    fn filled(&self, expected: &str) -> Result<&'d str, PlanError> {
        let text = self.string(expected)?;
        if text.trim().is_empty() { Err(self.wrong(ValueFault::Empty)) } else { Ok(text) }
    }

    /// Refuses a text, its value or a key, that has one of these characters.
    fn has_none_of(&self, (characters, called): Forbidden, text: &str, span: Range<usize>) -> Result<(), PlanError> {
        if !text.contains(characters) {
            return Ok(());
        }
        let fault = ValueFault::Character(text.escape_debug().to_string(), called);
        Err(self.document.error(span, ConfigFault::Value(self.key.clone(), fault)))
    }

    /// Its key means nothing.
    fn unknown(&self, key: &Spanned<DeString<'_>>, known: &'static [&'static str]) -> PlanError {
        let nearest = nearest(key.get_ref(), known.iter().copied());
        self.document.error(key.span(), ConfigFault::Key { key: self.key.clone(), nearest, known })
    }

    /// Its type is another one.
    fn not(&self, expected: &str) -> PlanError {
        let (key, found) = (self.key.clone(), self.value.get_ref().type_str());
        self.document.error(self.value.span(), ConfigFault::Type { key, expected: expected.to_owned(), found })
    }

    /// Its value makes no sense.
    fn wrong(&self, fault: ValueFault) -> PlanError {
        self.document.error(self.value.span(), ConfigFault::Value(self.key.clone(), fault))
    }
}

impl Document<'_> {
    /// Where the file is.
    fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    fn error(&self, span: Range<usize>, fault: ConfigFault) -> PlanError {
        PlanError::Config { path: self.path.to_owned(), line: self.line(span.start), fault }
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
