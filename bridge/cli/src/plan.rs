//! A stack that was checked: every tool inspected, every variable known. What `run` executes and `env` prints.

pub(crate) mod blind_spots;
pub(crate) mod edges;
pub(crate) mod glibc;
pub(crate) mod layer;
pub(crate) mod manifest;
pub(crate) mod outputs;
pub(crate) mod registered;
pub(crate) mod registrar;
pub(crate) mod request;
pub(crate) mod share;
pub(crate) mod survey;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use qmpi_abi::MpiFamily;
use qmpi_elf::SearchPath;
use qmpi_launch::environment::{self, EnvironmentVariable, Ingredients, of_process, preload, runtime};
use qmpi_launch::launcher::{self, LauncherInCommand};
use qmpi_launch::program::Program;
use qmpi_launch::{Warning, container};
use qmpi_plan::launcher::Line;
use qmpi_plan::{Inspector, Launcher, Namespaces, OnError, PassedOver, Place, StackOrigin, variable};

use crate::args::{RuntimeArgs, StackArgs, VerbosityArgs};
use crate::{Error, terminal};
use layer::InspectedLayer;
use request::ResolvedStack;
use share::MissingShare;

/// A stack and its inspection.
pub(crate) struct CheckedStack {
    /// The layers, outermost first.
    pub(crate) layers: Vec<InspectedLayer>,
    /// The stack they come from; with `skip`, without those that cannot be set up.
    pub(crate) resolved: ResolvedStack,
    /// What to tell the user.
    pub(crate) warnings: Vec<Warning>,
    /// Libraries of `share` that are here only if the program brings them.
    pub(crate) missing: Vec<MissingShare>,
    pub(crate) search: SearchPath,
    pub(crate) has_request: bool,
}

/// Resolves and inspects the stack that is asked for, with COMMAND if there is one.
pub(crate) fn check(
    stack: &StackArgs,
    command: &[OsString],
    verbosity: VerbosityArgs,
    get: &dyn Fn(&str) -> Option<OsString>,
) -> Result<CheckedStack, Error> {
    let mut resolved = request::resolve(stack, command, verbosity, get)?;
    let has_request = !resolved.stack.layers.is_empty() || !resolved.stack.skipped.is_empty();
    let search = SearchPath::from_process();
    let preloaded = preload::shared(std::env::var("LD_PRELOAD").ok().as_deref());
    let is_shared = |soname: &str| preloaded.iter().any(|shared| shared == soname);
    let mut warnings: Vec<Warning> = resolved
        .stack
        .skipped
        .drain(..)
        .map(|skipped| skip(&skipped.label, Error::from(skipped.error).into()))
        .collect();
    warnings.extend(ignored_order(stack, &resolved));
    warnings.extend(unused_sections(&resolved));
    let passed_over = resolved.stack.passed_over.iter().filter(|passed_over| passed_over.is_meant);
    warnings.extend(passed_over.map(|passed_over| Warning::new(passed_over.to_string(), PassedOver::HINT)));
    let mut inspector = Inspector::new(&search);
    let mut layers = Vec::new();
    for layer in std::mem::take(&mut resolved.stack.layers) {
        let label = layer.label.clone();
        match inspector.plan(layer, &is_shared) {
            Ok(planned) => layers.push(InspectedLayer::new(planned)),
            Err(refusal) => {
                let warning = or_warning(resolved.stack.on_error, Error::refused(&label, &refusal))?;
                warnings.push(skip(&label, warning));
            }
        }
    }
    check_places(&layers, resolved.settings.allowed.as_deref())?;
    for (name, stack) in &resolved.named {
        for layer in &stack.layers {
            let planned = inspector.plan(layer.clone(), &is_shared);
            if let (Err(refusal), OnError::Abort) = (planned, stack.on_error) {
                return Err(Error::refused(&layer.label, &refusal).in_named_stack(name));
            }
        }
    }
    resolved.stack.layers = layers.iter().map(|layer| layer.layer().clone()).collect();
    check_room(&layers, namespaces())?;
    warnings.extend(hazards(&layers));
    warnings.extend(layers.iter().filter_map(InspectedLayer::warning));
    warnings.extend(outputs::shared(&layers));
    let missing = share::missing(&layers, &search);
    Ok(CheckedStack { layers, resolved, warnings, missing, search, has_request })
}

/// The elements of the tool list that these variables set.
pub(crate) fn elements(variables: &[EnvironmentVariable]) -> Vec<String> {
    let list = variables.iter().find(|variable| variable.name == variable::TOOL_LIST);
    let elements = list.iter().flat_map(|list| list.value.split(','));
    elements.filter(|element| !element.is_empty()).map(str::to_owned).collect()
}

impl CheckedStack {
    /// The variables that set it up, in a fixed order.
    pub(crate) fn variables(
        &self,
        asked: &RuntimeArgs,
        get: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Vec<EnvironmentVariable>, Error> {
        let resolved = &self.resolved;
        Ok(environment::variables(&Ingredients {
            stack: &resolved.stack,
            settings: &resolved.settings,
            config: resolved.config.as_ref().map(|(path, _)| path.as_path()),
            site: if resolved.needs_site() { &resolved.site } else { &[] },
            runtime: &runtime::find(get)?,
            ctl: asked.ctl,
            all_processes: asked.all_processes,
            report: asked.directory().as_deref(),
            trace: asked.trace.as_deref(),
            static_tls: layer::static_tls(&self.layers),
            get,
        })?)
    }

    /// What to tell the user where no program is looked at: libraries that only the program can bring are among it.
    pub(crate) fn all_warnings(&self) -> Vec<Warning> {
        self.warnings.iter().cloned().chain(self.missing.iter().map(MissingShare::warning)).collect()
    }

    /// Are all tools built for one MPI, as those of a process are? With [`OnError::Skip`] the process leaves out those that are not for its
    /// own. Asked after [`CheckedStack::check_program`], which names the program.
    pub(crate) fn check_mpis(&self) -> Result<(), Error> {
        let mut families = self.layers.iter().filter_map(|layer| Some((layer, layer.planned.family()?)));
        let Some((layer, family)) = families.next() else { return Ok(()) };
        let other = families.find(|(_, other)| *other != family);
        let Some((other, other_family)) = other.filter(|_| self.on_error() == OnError::Abort) else { return Ok(()) };
        let message = format!(
            "tool `{}` is built for {family} and tool `{}` for {other_family}: no process has both",
            layer.label(),
            other.label()
        );
        Err(Error::failed(message, "take all tools in their builds for the program's MPI"))
    }

    fn on_error(&self) -> OnError {
        self.resolved.stack.on_error
    }

    /// Which layers share a namespace as clones, on some rank at least.
    pub(crate) fn clones(&self) -> Vec<bool> {
        let namespaces = namespaces();
        let mut clones = vec![false; self.layers.len()];
        for tools in layer::on_each_rank(&self.layers) {
            for (tool, place) in tools.iter().zip(namespaces.places(&tools, |tool| tool.needs_namespace())) {
                let index = self.layers.iter().position(|layer| std::ptr::eq(&layer.planned, *tool));
                if let Some(index) = index.filter(|_| place == Place::Clone) {
                    clones[index] = true;
                }
            }
        }
        clones
    }

    /// Are launcher, program and tools of one MPI, and does the program have what tools share with it? Returns the launcher, if there is one.
    pub(crate) fn check_command(
        &mut self,
        program: Option<&Program>,
        command: &[OsString],
    ) -> Result<Option<LauncherInCommand>, Error> {
        let found = launcher::find(command, of_process("PATH").as_deref());
        if let Some(program) = program {
            self.check_program(program)?;
        }
        if let (Some(found), Some(program)) = (&found, program) {
            self.check_launcher(found, command, program)?;
        }
        self.check_shares(program, command)?;
        Ok(found)
    }

    /// Compares the MPI of the program with the launcher's, where the launcher starts just that program.
    fn check_launcher(&self, found: &LauncherInCommand, command: &[OsString], program: &Program) -> Result<(), Error> {
        let args = found.args(command);
        let line = Line { launcher: found.launcher, args: &args, get: &|_| None };
        let first = line.first_program().map(Path::new);
        let is_meant = first.is_some_and(|first| first.file_name() == program.path.file_name());
        let Some(family) = program.family.filter(|family| is_meant && !starts(found.launcher, *family)) else {
            return Ok(());
        };
        let (path, family, launcher) = (program.path.display(), family.name(), found.launcher.name());
        let message =
            format!("{path} uses {family}, and the launcher is {launcher}'s: each process would be a job of its own");
        let hint = format!("use the mpiexec of {family}, by its path where several are installed");
        terminal::warn(&or_warning(self.on_error(), Error::failed(message, hint))?);
        Ok(())
    }

    /// Compares the MPI of the tools with the program's.
    fn check_program(&self, program: &Program) -> Result<(), Error> {
        let Some(family) = program.family else {
            return Ok(());
        };
        for layer in &self.layers {
            let user = program.path.display().to_string();
            let Err(refusal) = layer.planned.check_mpi(&user, family, family.name()) else { continue };
            let warning = or_warning(self.on_error(), Error::refused(layer.label(), &refusal))?;
            terminal::warn(&skip(layer.label(), warning));
        }
        Ok(())
    }

    /// Looks in the program for libraries of `share` that the dynamic linker does not find by their names. Where no program is known, they
    /// go to [`CheckedStack::warnings`]: it may bring them. So they do for a program in a container, which has other libraries than this machine.
    pub(crate) fn check_shares(&mut self, program: Option<&Program>, command: &[OsString]) -> Result<(), Error> {
        let program = program.filter(|_| self.missing.is_empty() || container::find(command, &of_process).is_none());
        for missing in std::mem::take(&mut self.missing) {
            match program {
                Some(program) if program.brings(&missing.soname, &self.search) => {}
                Some(program) if self.on_error() == OnError::Abort => return Err(missing.error(&program.path)),
                _ => self.warnings.push(missing.warning()),
            }
        }
        Ok(())
    }
}

/// Does the launcher start programs of this MPI? Open MPI's and hydra find no ranks of the other: each would be alone.
const fn starts(launcher: Launcher, family: MpiFamily) -> bool {
    match (launcher, family) {
        (Launcher::Slurm | Launcher::Pals | Launcher::Flux, _) | (_, MpiFamily::StandardAbi) => true,
        (Launcher::Orte | Launcher::Prrte, family) => matches!(family, MpiFamily::OpenMpi),
        (Launcher::Hydra, family) => matches!(family, MpiFamily::Mpich),
    }
}

/// The namespaces of a process before anything is loaded.
fn namespaces() -> Namespaces {
    Namespaces::left(0, false, false)
}

/// Refuses a tool that is not below one of the allowed directories, by the files that links lead to.
fn check_places(layers: &[InspectedLayer], allowed: Option<&[PathBuf]>) -> Result<(), Error> {
    let Some(allowed) = allowed else { return Ok(()) };
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let directories: Vec<PathBuf> = allowed.iter().map(|directory| real(directory)).collect();
    let files =
        layers.iter().filter(|layer| !layer.layer().is_name_only()).map(|layer| (layer, real(&layer.layer().path)));
    let outside = files.into_iter().find(|(_, path)| !directories.iter().any(|directory| path.starts_with(directory)));
    let Some((layer, path)) = outside else { return Ok(()) };
    let allowed = allowed.iter().map(|directory| directory.display().to_string()).collect::<Vec<_>>().join(", ");
    let (label, path) = (layer.label(), path.display());
    Err(Error::failed(
        format!(
            "tool `{label}`: {path} is in none of the directories that `allowed` of the site's configuration names"
        ),
        format!("take a tool of {allowed}: `qmpi tools` lists those with names"),
    ))
}

/// One line for each hazard, whichever layers it is of.
fn hazards(layers: &[InspectedLayer]) -> Vec<Warning> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for (i, layer) in layers.iter().enumerate() {
        for text in layer.hazards(i + 1 == layers.len()) {
            let label = format!("`{}`", layer.label());
            match found.iter_mut().find(|(known, _)| *known == text) {
                Some((_, labels)) => labels.push(label),
                None => found.push((text, vec![label])),
            }
        }
    }
    let message = |(text, labels): (String, Vec<String>)| {
        let tools = if labels.len() == 1 { "tool" } else { "tools" };
        Warning { message: format!("{tools} {}: {text}", labels.join(", ")), hint: None }
    };
    found.into_iter().map(message).collect()
}

/// An error that stops the command, or with [`OnError::Skip`] a warning.
fn or_warning(on_error: OnError, error: Error) -> Result<Warning, Error> {
    if on_error == OnError::Abort { Err(error) } else { Ok(error.into()) }
}

/// Refuses a stack in which a tool finds no namespace on some rank.
fn check_room(layers: &[InspectedLayer], namespaces: Namespaces) -> Result<(), Error> {
    for tools in layer::on_each_rank(layers) {
        if namespaces.places(&tools, |tool| tool.needs_namespace()).contains(&Place::NoRoom) {
            let needs_own: Vec<bool> = tools.iter().map(|tool| tool.needs_namespace()).collect();
            // Any of them shows what keeps tools from sharing one.
            let example = needs_own.iter().position(|needs_own| *needs_own).unwrap_or(0);
            let reason = tools[example].clone_obstacle().unwrap_or_else(|| "none is left for clones".to_owned());
            let count = needs_own.iter().filter(|needs_own| **needs_own).count();
            let (layer, left) = (tools[example].label(), namespaces.free);
            return Err(Error::failed(
                format!(
                    "{count} instances need a namespace of their own, and glibc has {left} for tools ({layer}: {reason})"
                ),
                format!("use at most {left} PMPI tools; QMPI tools do not count"),
            ));
        }
    }
    Ok(())
}

/// A variable left over in the shell wins over the file that was given just now: right, but easily overlooked.
fn ignored_order(stack: &StackArgs, resolved: &ResolvedStack) -> Option<Warning> {
    let (path, config) = resolved.config.as_ref()?;
    let left_over = stack.tools.is_empty() && resolved.stack.origin == StackOrigin::ToolList;
    (left_over && stack.config.is_some() && config.stack.is_some()).then(|| {
        Warning::new(
            format!("QMPI_TOOL_LIST is set and wins over `stack` of {}", path.display()),
            "unset QMPI_TOOL_LIST, or name the tools with -t",
        )
    })
}

/// Sections that no layer has: the name of one may be misspelt, in the file or on the command line. A file may well have more sections than
/// one stack uses.
fn unused_sections(resolved: &ResolvedStack) -> Option<Warning> {
    let (path, config) = resolved.config.as_ref()?;
    let layers = &resolved.stack.layers;
    let in_stacks =
        |name: &str| config.stacks.values().flatten().any(|element| element.split('=').next() == Some(name));
    let is_used = |name: &str| layers.iter().any(|layer| layer.name == name) || in_stacks(name);
    let unused: Vec<&str> = config.tools.keys().map(String::as_str).filter(|name| !is_used(name)).collect();
    let without = layers.iter().filter(|layer| !resolved.settings.tools.contains_key(&layer.name));
    let pair =
        without.clone().find_map(|layer| Some((layer, qmpi_plan::nearest(&layer.name, unused.iter().copied())?)));
    if let Some((layer, name)) = pair {
        return Some(Warning::new(
            format!("layer `{}` has no section in {}, and [tool.{name}] is not used", layer.label, path.display()),
            format!("is it meant for it? Then write `{name}`, or [tool.{}]", layer.name),
        ));
    }
    let all_unused = !unused.is_empty() && unused.len() == config.tools.len() && without.count() > 0;
    all_unused.then(|| {
        let names: Vec<String> = unused.iter().map(|name| format!("[tool.{name}]")).collect();
        let message = format!("no layer has a section in {}: {} not used", path.display(), names.join(", "));
        Warning::new(message, "a section belongs to the layer of that name: -t NAME, or -t NAME=PATH")
    })
}

fn skip(label: &str, warning: Warning) -> Warning {
    Warning { message: format!("layer `{label}` is skipped: {}", warning.message), ..warning }
}
