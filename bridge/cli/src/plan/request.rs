//! From the command line and the environment to the stack that is asked for.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use qmpi_elf::SearchPath;
use qmpi_plan::request::site;
use qmpi_plan::{Config, Element, Layer, LogLevel, OnError, Request, Skipped, Stack, list, variable};

use crate::args::{StackArgs, VerbosityArgs};
use crate::plan::registrar;
use crate::{Error, LaunchError};

/// The stack with what it was read from.
pub(crate) struct ResolvedStack {
    pub(crate) stack: Stack,
    /// The stacks of `[stacks]`, which a tool may open.
    pub(crate) named: BTreeMap<String, Stack>,
    /// The configuration file, absolute, and what it says.
    pub(crate) config: Option<(PathBuf, Config)>,
    /// The files of the site that hold below it.
    pub(crate) site: Vec<PathBuf>,
    /// What all of them say together.
    pub(crate) settings: Config,
}

impl ResolvedStack {
    /// Does a layer, or a stack that tools open, come from the site's files? Then the processes have to read them.
    pub(crate) fn needs_site(&self) -> bool {
        let own = self.config.as_ref().map(|(_, config)| config);
        let is_of_site = |name: &String| {
            self.settings.tools.contains_key(name) && own.is_none_or(|own| !own.tools.contains_key(name))
        };
        let own_pmpi = own.map(|own| own.program_pmpi).unwrap_or_default();
        self.stack.layers.iter().any(|layer| is_of_site(&layer.name))
            || self.settings.stacks.keys().any(|name| own.is_none_or(|own| !own.stacks.contains_key(name)))
            || self.settings.program_pmpi != own_pmpi
    }
}

/// Reads the environment and lets the options win over it.
fn request(
    stack: &StackArgs,
    verbosity: VerbosityArgs,
    get: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Request, Error> {
    // A variable that is overridden is not even looked at, so that it cannot be wrong.
    let overridden = |name: &str| match name {
        variable::TOOL_LIST | variable::THESIS_TOOLS if !stack.tools.is_empty() => None,
        variable::CONFIG if stack.config.is_some() => None,
        variable::LOG if verbosity.quiet || verbosity.verbose > 0 => None,
        _ => get(name),
    };
    let mut request = Request::from_env(&overridden)?;
    if !stack.tools.is_empty() {
        request.tool_list = Some(tool_list(&stack.tools)?);
    }
    if let Some(config) = &stack.config {
        request.config = Some(config.clone());
    }
    match (verbosity.quiet, verbosity.verbose) {
        (true, _) => request.log = LogLevel::Error,
        (false, 0) => {}
        (false, 1) => request.log = LogLevel::Info,
        (false, _) => request.log = LogLevel::Debug,
    }
    request.site = site::files(get)?;
    request.with_innermost = !stack.exact;
    // A name may have no file.
    request.keep_names = true;
    Ok(request)
}

/// The stack that options and environment ask for; COMMAND, where there is one, may register tools itself.
pub(crate) fn resolve(
    asked: &StackArgs,
    command: &[OsString],
    verbosity: VerbosityArgs,
    get: &dyn Fn(&str) -> Option<OsString>,
) -> Result<ResolvedStack, Error> {
    let request = request(asked, verbosity, get)?;
    let (config, settings) = request.read_config()?;
    let search = SearchPath::from_process();
    let by_name = |name: &str| search.find_by_name(name);
    let settled = |stack| settle_names(stack, &settings, command, &search, get);
    let stack = settled(request.resolve_with(&settings, &by_name)?)?;
    let mut named = BTreeMap::new();
    for (name, names) in &settings.stacks {
        let found = request.named_with(&settings, names, &by_name).map_err(Error::from).and_then(settled);
        named.insert(name.clone(), found.map_err(|error| error.in_named_stack(name))?);
    }
    Ok(ResolvedStack { stack, named, config, site: request.site, settings })
}

/// Of the names without a file those stay that the file or the surroundings speak for.
fn settle_names(
    mut stack: Stack,
    config: &Config,
    command: &[OsString],
    search: &SearchPath,
    get: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Stack, Error> {
    let is_declared = |layer: &Layer| config.tools.get(&layer.name).is_some_and(|tool| tool.registered);
    let mut doubtful = std::mem::take(&mut stack.unresolved);
    doubtful.retain(|(place, _)| !is_declared(&stack.layers[*place]));
    if doubtful.is_empty() || registrar::is_there(&stack.layers, command, search, get) {
        return Ok(stack);
    }
    // From the end, so that places stay what they are.
    for (place, error) in doubtful.into_iter().rev() {
        if stack.on_error == OnError::Abort {
            return Err(error.into());
        }
        let label = stack.layers.remove(place).label;
        stack.skipped.insert(0, Skipped { label, error });
    }
    Ok(stack)
}

/// `-t a -t b` as one list. Each option may hold a list itself, as the variable does.
fn tool_list(options: &[String]) -> Result<String, Error> {
    let usage = |error: qmpi_plan::PlanError| Error::usage(error.to_string(), error.hint());
    let mut elements = Vec::new();
    for option in options {
        if let Some(path) = list::unlistable(option) {
            let why = "a `,` or a `:` separates the tools of a list";
            return Err(LaunchError::Unlistable { layer: "-t".to_owned(), path, why }.into());
        }
        let parsed = list::parse("-t", option).map_err(usage)?;
        if parsed.is_empty() {
            return Err(Error::usage("-t: the tool is empty", "TOOL is NAME, PATH (with a `/`) or NAME=PATH"));
        }
        elements.extend(parsed.iter().map(Element::to_string));
    }
    Ok(elements.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(tools: &[&str], verbose: u8, env: &[(&str, &str)]) -> Result<Request, Error> {
        let stack = StackArgs { tools: tools.iter().map(|&tool| tool.into()).collect(), ..StackArgs::default() };
        let get = |name: &str| env.iter().find(|(n, _)| *n == name).map(|(_, value)| value.into());
        request(&stack, VerbosityArgs { quiet: false, verbose }, &get)
    }

    #[test]
    fn options_win() {
        let env = [("QMPI_TOOL_LIST", "x,,"), ("QMPI_LOG", "loud")];
        let request = asked(&["a", "./b.so,c=/c.so"], 1, &env).unwrap();
        assert_eq!(request.tool_list.as_deref(), Some("a,./b.so,c=/c.so"));
        assert_eq!(request.log, LogLevel::Info);
        assert!(asked(&[], 0, &env).unwrap_err().message.starts_with("QMPI_LOG=loud is none of"));
    }

    #[test]
    fn malformed_options_are_usage_errors() {
        for tool in ["=x", "a=", "a,,b", " ", "a,"] {
            let error = asked(&[tool], 0, &[]).unwrap_err();
            assert_eq!(error.status, 2, "{tool}");
            assert!(error.message.starts_with("-t: "), "{error:?}");
        }
    }
}
