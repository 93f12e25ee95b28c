//! What the user asks for: environment, tool list and configuration file put together.
//!
//! Which tools, by precedence: `QMPI_TOOL_LIST` (`-t` of the command arrives as one); `stack` of the configuration file;
//! the thesis's `TOOLS`. A variable that is set but empty counts as set: `QMPI_TOOL_LIST=` means "no tools" even next to a
//! configuration file. The settings of a layer are those of the section with its name, wherever the name came from.

pub mod list;
pub mod lookup;
pub mod site;
pub mod variable;
mod with;

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use qmpi_elf::{ElfError, ElfErrorReason, ElfFile};

use crate::stack::{Layer, PassedOver, Skipped, Stack, StackOrigin};
use crate::{Config, Element, LargeCountCalls, LogLevel, Lookup, OnError, PlanError, Processes, SettingWord};
use lookup::{Linker, absolute, is_elf};

/// What the user asks for, before anything is looked up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// The value of `QMPI_TOOL_LIST`, if it is set.
    pub tool_list: Option<String>,
    /// The value of `QMPI_TOOL_PATH`, if it is set.
    pub tool_path: Option<String>,
    /// The configuration file; none if the variable is empty.
    pub config: Option<PathBuf>,
    /// Files of the site, which hold below it; the weakest first.
    pub site: Vec<PathBuf>,
    /// Whether the layers that the site wants innermost in each stack are added. A list that the command made has them.
    pub with_innermost: bool,
    /// What to do with a layer that cannot be set up.
    pub on_error: OnError,
    /// `QMPI_LARGE_COUNTS`, for layers whose sections say nothing else.
    pub large_counts: LargeCountCalls,
    /// How much to say.
    pub log: LogLevel,
    /// In which processes the stack is set up, if the environment says so.
    pub processes: Option<Processes>,
    /// The value of `TOOLS`, if it is set and is text.
    pub thesis_tools: Option<String>,
    /// A name that leads to no file is kept: a tool may be loaded already that registers it.
    pub keep_names: bool,
    /// Names that tools have registered already: no file is looked for, unless the configuration names one.
    pub registered: Vec<String>,
}

impl Request {
    /// Reads the environment through `get`.
    ///
    /// # Errors
    /// A variable that is no text, or none of the words it may be. A `TOOLS` that is not UTF-8 is another program's, and passed over.
    pub fn from_env(get: &dyn Fn(&str) -> Option<OsString>) -> Result<Self, PlanError> {
        let text = |variable: &'static str| {
            let value = get(variable).map(OsString::into_string).transpose();
            value.map_err(|_| PlanError::not_unicode(variable))
        };
        Ok(Self {
            tool_list: text(variable::TOOL_LIST)?,
            tool_path: text(variable::TOOL_PATH)?,
            config: get(variable::CONFIG).filter(|path| !path.is_empty()).map(PathBuf::from),
            site: site::named(get)?.unwrap_or_default(),
            with_innermost: false,
            on_error: OnError::of_variable(variable::ON_ERROR, text(variable::ON_ERROR)?.as_deref())?,
            large_counts: LargeCountCalls::of_variable(
                variable::LARGE_COUNTS,
                text(variable::LARGE_COUNTS)?.as_deref(),
            )?,
            log: LogLevel::of_variable(variable::LOG, text(variable::LOG)?.as_deref())?,
            processes: text(variable::PROCESSES)?
                .map(|value| Processes::of_variable(variable::PROCESSES, Some(&value)))
                .transpose()?,
            thesis_tools: get(variable::THESIS_TOOLS).and_then(|value| value.into_string().ok()),
            keep_names: false,
            registered: Vec::new(),
        })
    }

    /// Reads the configuration file, decides where the tools are named, and finds the file of each.
    ///
    /// # Errors
    /// Any [`PlanError`]. An element without a file is one unless [`OnError::Skip`] is asked for.
    pub fn resolve(&self, linker: Linker<'_>) -> Result<Stack, PlanError> {
        self.resolve_with(&self.read_config()?.1, linker)
    }

    /// The configuration file, absolute, and what it says; and what that and the site's files say together.
    ///
    /// # Errors
    /// Whatever [`Config::read`] finds.
    pub fn read_config(&self) -> Result<(Option<(PathBuf, Config)>, Config), PlanError> {
        let site = site::read(&self.site)?;
        let Some(path) = &self.config else { return Ok((None, site)) };
        let path = absolute(path)?;
        let own = Config::read(&path)?;
        let all = own.clone().over(site);
        Ok((Some((path, own)), all))
    }

    /// [`Request::resolve`] for a named stack of the configuration file instead of the main one.
    ///
    /// # Errors
    /// As there; and the configuration file has no stack of this name.
    pub fn resolve_named(&self, name: &str, linker: Linker<'_>) -> Result<Stack, PlanError> {
        let no_stack = || {
            let config = self.config.as_ref().map(|path| path.display().to_string());
            let place = config.unwrap_or_else(|| "the configuration: QMPI_CONFIG is not set".into());
            let hint = format!("[stacks] {name} = [\"outer\", \"inner\"]");
            PlanError::new(format!("there is no stack `{name}` in {place}"), hint)
        };
        let (_, config) = self.read_config()?;
        self.named_with(&config, config.stacks.get(name).ok_or_else(no_stack)?, linker)
    }

    /// [`Request::resolve_named`] for the names of a stack, with a configuration that is read already.
    ///
    /// # Errors
    /// As for [`Request::resolve`].
    pub fn named_with(&self, config: &Config, names: &[String], linker: Linker<'_>) -> Result<Stack, PlanError> {
        self.find(config, linker, StackOrigin::Config, names.iter().cloned().map(Element::Name).collect())
    }

    /// [`Request::resolve`] with a configuration that is read already.
    ///
    /// # Errors
    /// As there.
    pub fn resolve_with(&self, config: &Config, linker: Linker<'_>) -> Result<Stack, PlanError> {
        let mut passed_over = None;
        let (mut origin, mut elements) = if let Some(text) = &self.tool_list {
            (StackOrigin::ToolList, list::parse(variable::TOOL_LIST, text)?)
        } else if let Some(names) = &config.stack {
            (StackOrigin::Config, names.iter().cloned().map(Element::Name).collect())
        } else {
            match thesis_elements(self.thesis_tools.as_deref().unwrap_or_default()) {
                Ok(elements) => (StackOrigin::Thesis, elements),
                Err(why) => {
                    passed_over = why;
                    (StackOrigin::Nowhere, Vec::new())
                }
            }
        };
        if self.with_innermost && (origin == StackOrigin::Nowhere || !elements.is_empty()) {
            let names: HashSet<String> = elements.iter().map(Element::name).collect();
            let more = config.innermost.iter().flatten().filter(|name| !names.contains(*name));
            elements.extend(more.cloned().map(Element::Name));
            if origin == StackOrigin::Nowhere && !elements.is_empty() {
                (origin, passed_over) = (StackOrigin::Config, None);
            }
        }
        Ok(Stack { passed_over, ..self.find(config, linker, origin, elements)? })
    }

    fn find(
        &self,
        config: &Config,
        linker: Linker<'_>,
        origin: StackOrigin,
        elements: Vec<Element>,
    ) -> Result<Stack, PlanError> {
        let lookup = Lookup::new(config, self.tool_path.as_deref().unwrap_or_default(), linker)?;
        let mut labels = HashMap::new();
        let mut stack = Stack {
            layers: Vec::new(),
            on_error: self.on_error,
            large_counts: self.large_counts,
            log: self.log,
            processes: self.processes.unwrap_or(config.processes),
            origin,
            skipped: Vec::new(),
            unresolved: Vec::new(),
            program_pmpi: config.program_pmpi,
            passed_over: None,
        };
        for element in elements {
            let name = element.name();
            let label = unique_label(&mut labels, &name);
            let mut settings = config.tools.get(&name).cloned().unwrap_or_default();
            if self.large_counts == LargeCountCalls::Past {
                settings.large_counts = LargeCountCalls::Past;
            }
            let is_registered = matches!(element, Element::Name(_))
                && settings.path.is_none()
                && (settings.registered || self.registered.contains(&name));
            let mut find = || {
                let Some(path) = (if is_registered { None } else { lookup.file(&element)? }) else {
                    let error = lookup.unresolved(&name);
                    if !self.keep_names {
                        return Err(error);
                    }
                    stack.unresolved.push((stack.layers.len(), error));
                    return Ok(PathBuf::from(&name));
                };
                settings.with = with::find(&name, &path, &settings.with, linker)?;
                Ok(path)
            };
            match find() {
                Ok(path) => stack.layers.push(Layer { label, name, path, settings }),
                Err(error) if self.on_error == OnError::Skip => stack.skipped.push(Skipped { label, error }),
                Err(error) => return Err(error),
            }
        }
        Ok(stack)
    }
}

/// `name`, or `name#2`, `name#3`, ... if that is taken. `labels`: those so far, and how many layers of that name there are, as a stack may
/// have a thousand of one.
fn unique_label(labels: &mut HashMap<String, usize>, name: &str) -> String {
    let mut label = name.to_owned();
    let mut instance = labels.get(name).copied().unwrap_or_default();
    while labels.contains_key(&label) {
        instance += 1;
        label = format!("{name}#{instance}");
    }
    labels.insert(name.to_owned(), instance.max(1));
    labels.entry(label.clone()).or_insert(1);
    label
}

/// The elements of `TOOLS`; or, if it is not a list of shared objects, why it is taken for another program's, unless it is empty.
fn thesis_elements(text: &str) -> Result<Vec<Element>, Option<PassedOver>> {
    let elements: Vec<&str> = text.split(':').map(str::trim).collect();
    let is_library = |element: &&&str| is_library(Path::new(element));
    let Some(other) = elements.iter().find(|element| !is_library(element)) else {
        return Ok(elements.iter().map(|&path| Element::Path(path.into())).collect());
    };
    let is_meant = elements.iter().any(|element| is_library(&element))
        || elements.iter().filter(|element| !element.is_empty()).all(|element| element.contains('/'));
    Err((!text.trim().is_empty()).then(|| PassedOver { element: (*other).to_owned(), is_meant }))
}

/// Whether the file is a library, or a broken one: what is wrong with it is for the inspection to say.
fn is_library(path: &Path) -> bool {
    is_elf(path)
        && match ElfFile::open(path) {
            Ok(file) => file.is_shared_object(),
            Err(ElfError { reason: ElfErrorReason::NotSharedObject(_) | ElfErrorReason::Static, .. }) => false,
            Err(_) => true,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_LINKER: Linker<'static> = &|_| None;

    fn request(variables: &[(&str, &str)]) -> Result<Request, PlanError> {
        Request::from_env(&|name| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| value.into()))
    }

    /// The C library of this process: a shared object that exists.
    fn elf() -> PathBuf {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        maps.lines()
            .find_map(|line| line.split_whitespace().last().filter(|path| path.ends_with("/libc.so.6")))
            .unwrap()
            .into()
    }

    fn config(text: &str) -> Config {
        Config::parse(Path::new("/conf/qmpi.toml"), text).unwrap()
    }

    #[test]
    fn nothing_asked_for() {
        let stack = request(&[]).unwrap().resolve(NO_LINKER).unwrap();
        assert!(stack.layers.is_empty());
        assert_eq!((stack.origin, stack.on_error, stack.log), (StackOrigin::Nowhere, OnError::Abort, LogLevel::Warn));
    }

    #[test]
    fn labels_are_unique() {
        let exe = elf();
        let list = format!("a={0},{0},a={0}:{0},a={0}", exe.display());
        let stack = request(&[("QMPI_TOOL_LIST", &list)]).unwrap().resolve(NO_LINKER).unwrap();
        let file = exe.file_name().unwrap().to_str().unwrap();
        let labels: Vec<&str> = stack.layers.iter().map(|layer| layer.label.as_str()).collect();
        assert_eq!(labels, ["a", file, "a#2", &format!("{file}#2"), "a#3"]);
        assert!(stack.layers.iter().all(|layer| layer.path == exe));
    }

    #[test]
    fn list_before_config_before_thesis() {
        let exe = elf();
        let text = format!("stack = [\"in_config\"]\n[tool.in_config]\npath = {exe:?}\nranks = \"1\"");
        let config = config(&text);
        let both = format!("in_list={}", exe.display());
        let thesis = exe.to_str().unwrap();
        let name = |variables: &[(&str, &str)], config: &Config| {
            let stack = request(variables).unwrap().resolve_with(config, NO_LINKER).unwrap();
            (stack.origin, stack.layers.first().map(|layer| layer.name.clone()))
        };
        let (list, tools) = (("QMPI_TOOL_LIST", both.as_str()), ("TOOLS", thesis));
        assert_eq!(name(&[list, tools], &config), (StackOrigin::ToolList, Some("in_list".into())));
        assert_eq!(name(&[tools], &config), (StackOrigin::Config, Some("in_config".into())));
        assert_eq!(name(&[("QMPI_TOOL_LIST", " "), tools], &config), (StackOrigin::ToolList, None));
        assert_eq!(name(&[tools], &Config::default()).0, StackOrigin::Thesis);
    }

    #[test]
    fn settings_follow_the_name() {
        let exe = elf();
        let config = config("[tool.x]\nenv = { A = \"1\" }\nranks = \"2\"\npcontrol = false\nshare = [\"l.so\"]");
        let list = format!("x={0},y={0}", exe.display());
        let stack = request(&[("QMPI_TOOL_LIST", &list)]).unwrap().resolve_with(&config, NO_LINKER).unwrap();
        let [x, y] = &stack.layers[..] else { panic!("two layers") };
        assert_eq!((x.settings.env.len(), !x.settings.skips_pcontrol, x.settings.share.len()), (1, false, 1));
        assert!(x.on_rank(Some(2)) && !x.on_rank(Some(0)) && x.on_rank(None));
        assert!(y.settings.env.is_empty() && !y.settings.skips_pcontrol && y.on_rank(Some(0)));
    }

    #[test]
    fn thesis_variable_of_somebody_else() {
        let exe = elf();
        for tools in ["make gcc", "", "/", "Cargo.toml", &format!("{}:", exe.display())] {
            let stack = request(&[("TOOLS", tools)]).unwrap().resolve(NO_LINKER).unwrap();
            assert_eq!((stack.origin, stack.layers.len()), (StackOrigin::Nowhere, 0), "{tools}");
        }
    }

    #[test]
    fn a_thesis_variable_that_is_passed_over() {
        let exe = elf();
        let of = |tools: &str| request(&[("TOOLS", tools)]).unwrap().resolve(NO_LINKER).unwrap().passed_over;
        let one_is_missing = of(&format!("{}:/nowhere/libx.so", exe.display())).unwrap();
        assert_eq!(
            one_is_missing.to_string(),
            "TOOLS is set, but passed over: `/nowhere/libx.so` in it is no shared object"
        );
        assert!(one_is_missing.is_meant && of("./a.so:./b.so").unwrap().is_meant);
        assert!(of(&format!("{}:", exe.display())).unwrap().is_meant);
        assert!(!of("make gcc").unwrap().is_meant && !of("a:/b").unwrap().is_meant);
        assert_eq!((of(""), of(" "), of(exe.to_str().unwrap())), (None, None, None));
        // `TOOLS` is not looked at where another setting names the tools.
        let list = request(&[("TOOLS", "./a.so"), ("QMPI_TOOL_LIST", "")]).unwrap().resolve(NO_LINKER).unwrap();
        assert_eq!(list.passed_over, None);
    }

    #[test]
    fn names_that_the_program_registers() {
        let config = config("[tool.own]\nregistered = true\nranks = \"1\"");
        let linker: Linker<'_> = &|_| Some(elf());
        let mut wanted = request(&[("QMPI_TOOL_LIST", "own,other")]).unwrap();
        wanted.keep_names = true;
        let stack = wanted.resolve_with(&config, linker).unwrap();
        let [own, other] = &stack.layers[..] else { panic!("two layers") };
        assert!(own.is_name_only() && own.settings.ranks.is_some() && !other.is_name_only());
        assert_eq!(stack.unresolved.len(), 1);
        let error = Config::parse(Path::new("/q.toml"), "[tool.x]\nregistered = true\npath = \"x.so\"").unwrap_err();
        assert!(error.to_string().starts_with("/q.toml:2: `tool.x.registered`: "), "{error}");
    }

    #[test]
    fn an_element_without_a_file() {
        let exe = elf();
        let list = format!("ghost,a={}", exe.display());
        let error = request(&[("QMPI_TOOL_LIST", &list)]).unwrap().resolve(NO_LINKER).unwrap_err();
        assert_eq!(error.to_string(), "no tool `ghost` found in the linker's path");
        let skip = request(&[("QMPI_TOOL_LIST", &list), ("QMPI_ON_ERROR", "skip")]).unwrap();
        let stack = skip.resolve(NO_LINKER).unwrap();
        assert_eq!(stack.layers.len(), 1);
        assert_eq!(stack.skipped[0].label, "ghost");
    }

    #[test]
    fn bad_variables() {
        use std::os::unix::ffi::OsStringExt;
        let error = Request::from_env(&|name| (name == "QMPI_TOOL_LIST").then(|| OsString::from_vec(vec![0xff])));
        assert_eq!(error.unwrap_err().to_string(), "QMPI_TOOL_LIST is not valid UTF-8");
        assert!(request(&[("QMPI_ON_ERROR", "ignore")]).is_err());
        assert!(request(&[("QMPI_CONFIG", "")]).unwrap().config.is_none());
    }
}
