//! A stack that was checked: every tool inspected, every variable known. What `run` executes and `env` prints.

pub mod glibc;
pub mod layer;
pub mod manifest;
pub mod outputs;
pub mod registered;
pub mod registrar;
pub mod request;
pub mod share;
pub mod survey;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use qmpi_elf::mpi::abi_family::{is_mpi_library, is_name_of_tools_too};
use qmpi_elf::{ElfFile, MpiFamily, SearchPath, is_mpi_soname};
use qmpi_plan::launcher::Line;
use qmpi_plan::preload::file_name;
use qmpi_plan::{Inspector, Launcher, Namespaces, OnError, Origin, PassedOver, Place};

use crate::Error;
use crate::args::{LoadArgs, MeasureArgs, StackArgs, VerbosityArgs};
use crate::environment::{self, Ingredients, Variable};
use crate::environment::{preload, runtime};
use crate::launcher::program::Program;
use crate::launcher::{Found, container};
use crate::report::warning::Warning;
use layer::InspectedLayer;
use request::Resolved;
use share::MissingShare;

/// A stack and its inspection.
pub struct Checked {
    /// The layers, outermost first.
    pub layers: Vec<InspectedLayer>,
    /// The stack they come from; with `skip`, without those that cannot be set up.
    pub resolved: Resolved,
    /// What to tell the user.
    pub warnings: Vec<Warning>,
    /// Libraries of `share` that are here only if the program brings them.
    pub missing: Vec<MissingShare>,
    /// How libraries were looked up.
    pub search: SearchPath,
    /// Whether any tool was asked for.
    pub has_request: bool,
}

/// A checked stack with its variables.
pub struct Plan {
    /// The layers, outermost first.
    pub layers: Vec<InspectedLayer>,
    /// What to set, in a fixed order.
    pub variables: Vec<Variable>,
    /// What to tell the user.
    pub warnings: Vec<Warning>,
    /// How libraries were looked up.
    pub search: SearchPath,
    /// Whether any tool was asked for.
    pub has_request: bool,
    on_error: OnError,
    missing: Vec<MissingShare>,
}

/// Resolves and inspects the stack that is asked for.
///
/// # Errors
/// The first layer that cannot be set up, unless [`OnError::Skip`] turns it into a warning; too many layers.
pub fn check(
    stack: &StackArgs,
    verbosity: VerbosityArgs,
    get: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Checked, Error> {
    let mut resolved = request::with_options(stack, verbosity, get)?.resolve()?;
    let has_request = !resolved.stack.layers.is_empty() || !resolved.stack.skipped.is_empty();
    let search = SearchPath::from_process();
    let preloaded = preload::shared(std::env::var("LD_PRELOAD").ok().as_deref());
    let mut warnings: Vec<Warning> =
        resolved.stack.skipped.drain(..).map(|skipped| skip(&skipped.label, &Error::Stack(skipped.error))).collect();
    warnings.extend(ignored_order(stack, &resolved));
    warnings.extend(unused_sections(&resolved));
    let passed_over = resolved.stack.passed_over.iter().filter(|passed_over| passed_over.is_meant);
    warnings.extend(passed_over.map(|passed_over| Warning::new(passed_over.to_string(), PassedOver::HINT)));
    let mut inspector = Inspector::new(&search);
    let mut layers = Vec::new();
    for layer in std::mem::take(&mut resolved.stack.layers) {
        let label = layer.label.clone();
        match inspector.plan(layer, &|soname| preloaded.iter().any(|shared| shared == soname)) {
            Ok(planned) => layers.push(InspectedLayer::new(planned)),
            Err(refusal) => {
                let error = Error::Refused { layer: label.clone(), refusal };
                match resolved.stack.on_error {
                    OnError::Skip => warnings.push(skip(&label, &error)),
                    OnError::Abort => return Err(error),
                }
            }
        }
    }
    check_places(&layers, resolved.settings.allowed.as_deref())?;
    for (name, stack) in &resolved.named {
        for layer in &stack.layers {
            let planned = inspector.plan(layer.clone(), &|soname| preloaded.iter().any(|shared| shared == soname));
            if let (Err(refusal), OnError::Abort) = (planned, stack.on_error) {
                let error = Error::Refused { layer: layer.label.clone(), refusal };
                return Err(Error::InNamedStack { stack: name.clone(), error: Box::new(error) });
            }
        }
    }
    resolved.stack.layers = layers.iter().map(|layer| layer.layer().clone()).collect();
    check_room(&layers, namespaces(get))?;
    warnings.extend(hazards(&layers));
    warnings.extend(layers.iter().flat_map(InspectedLayer::warnings));
    warnings.extend(outputs::shared(&layers));
    let missing = share::missing(&layers, &search);
    Ok(Checked { layers, resolved, warnings, missing, search, has_request })
}

/// [`check`], and then the variables.
///
/// # Errors
/// As there; no runtime; paths that cannot be passed on.
pub fn make(
    stack: &StackArgs,
    verbosity: VerbosityArgs,
    measure: &MeasureArgs,
    load: LoadArgs,
    get: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Plan, Error> {
    let Checked { layers, resolved, warnings, missing, search, has_request } = check(stack, verbosity, get)?;
    let runtime = runtime::find(get)?;
    let variables = environment::variables(
        &resolved,
        &Ingredients { runtime: &runtime, measure, load, static_tls: layer::static_tls(&layers), is_mpi: &is_mpi, get },
    )?;
    Ok(Plan { layers, variables, warnings, search, has_request, on_error: resolved.stack.on_error, missing })
}

/// Whether an entry of `LD_PRELOAD` is an MPI library.
pub(crate) fn is_mpi(entry: &str) -> bool {
    let name = file_name(entry);
    let is_tool = || ElfFile::open(Path::new(entry)).is_ok_and(|file| !is_mpi_library(&file));
    is_mpi_soname(name) && !(is_name_of_tools_too(name) && is_tool())
}

impl Checked {
    /// What to tell the user where no program is looked at: libraries that only the program can bring are among it.
    #[must_use]
    pub fn all_warnings(&self) -> Vec<Warning> {
        self.warnings.iter().cloned().chain(self.missing.iter().map(MissingShare::warning)).collect()
    }

    /// Are all tools built for one MPI?
    ///
    /// # Errors
    /// [`Error::SeveralMpis`].
    pub fn check_mpis(&self) -> Result<(), Error> {
        check_mpis(&self.layers, self.resolved.stack.on_error)
    }

    /// Which layers share a namespace as clones, on some rank at least.
    #[must_use]
    pub fn clones(&self, get: &dyn Fn(&str) -> Option<OsString>) -> Vec<bool> {
        let namespaces = namespaces(get);
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
}

impl Plan {
    /// Are all tools built for one MPI? Asked after [`Plan::check_program`], which names the program.
    ///
    /// # Errors
    /// [`Error::SeveralMpis`].
    pub fn check_mpis(&self) -> Result<(), Error> {
        check_mpis(&self.layers, self.on_error)
    }

    /// Compares the MPI of the program with the launcher's, where the launcher starts just that program.
    ///
    /// # Errors
    /// [`Error::OtherLauncher`].
    pub fn check_launcher(&self, found: &Found, command: &[OsString], program: &Program) -> Result<(), Error> {
        let args: Vec<String> =
            command.iter().skip(found.index + 1).map(|word| word.to_string_lossy().into_owned()).collect();
        let line = Line { launcher: found.launcher, args: &args, get: &|_| None };
        let first = line.first_program().map(Path::new);
        let is_meant = first.is_some_and(|first| first.file_name() == program.path.file_name());
        let Some(family) = program.family.filter(|family| is_meant && !starts(found.launcher, *family)) else {
            return Ok(());
        };
        let error = Error::OtherLauncher {
            launcher: found.launcher.name(),
            program: program.path.clone(),
            family: family.name(),
        };
        match self.on_error {
            OnError::Abort => Err(error),
            OnError::Skip => {
                Warning::new(error.to_string(), error.hint()).print();
                Ok(())
            }
        }
    }

    /// Compares the MPI of the tools with the program's.
    ///
    /// # Errors
    /// [`Error::Refused`] for the first tool that is built for another one.
    pub fn check_program(&self, program: &Program) -> Result<(), Error> {
        let Some(family) = program.family else {
            return Ok(());
        };
        for layer in &self.layers {
            let user = program.path.display().to_string();
            let Err(refusal) = layer.planned.check_mpi(&user, family, family.name()) else { continue };
            let error = Error::Refused { layer: layer.label().to_owned(), refusal };
            match self.on_error {
                OnError::Abort => return Err(error),
                OnError::Skip => skip(layer.label(), &error).print(),
            }
        }
        Ok(())
    }

    /// Looks in the program for libraries of `share` that the dynamic linker does not find by their names. Where no program is known, they
    /// go to [`Plan::warnings`]: it may bring them. So they do for a program in a container, which has other libraries than this machine.
    ///
    /// # Errors
    /// [`Error::MissingShare`] for the first that the program does not bring: each rank would fail.
    pub fn check_shares(
        &mut self,
        program: Option<&Program>,
        command: &[OsString],
        get: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<(), Error> {
        let program = program.filter(|_| self.missing.is_empty() || container::find(command, get).is_none());
        for missing in std::mem::take(&mut self.missing) {
            match program {
                Some(program) if program.brings(&missing.soname, &self.search) => {}
                Some(program) if self.on_error == OnError::Abort => return Err(missing.error(&program.path)),
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
fn namespaces(get: &dyn Fn(&str) -> Option<OsString>) -> Namespaces {
    let audit = get("LD_AUDIT").map(|value| value.to_string_lossy().into_owned());
    Namespaces::at_start(audit.as_deref())
}

/// Refuses a tool that is not below one of the allowed directories, by the files that links lead to.
fn check_places(layers: &[InspectedLayer], allowed: Option<&[PathBuf]>) -> Result<(), Error> {
    let Some(allowed) = allowed else { return Ok(()) };
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let directories: Vec<PathBuf> = allowed.iter().map(|directory| real(directory)).collect();
    let files =
        layers.iter().filter(|layer| !layer.layer().is_name_only()).map(|layer| (layer, real(&layer.layer().path)));
    let names = || allowed.iter().map(|directory| directory.display().to_string()).collect::<Vec<_>>().join(", ");
    match files.into_iter().find(|(_, path)| !directories.iter().any(|directory| path.starts_with(directory))) {
        Some((layer, path)) => Err(Error::NotAllowed {
            layer: layer.label().to_owned(),
            path: path.display().to_string(),
            allowed: names(),
        }),
        None => Ok(()),
    }
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

/// Refuses a stack of tools for several MPIs, which no process has. With [`OnError::Skip`] the process leaves out those that are not
/// for its own.
fn check_mpis(layers: &[InspectedLayer], on_error: OnError) -> Result<(), Error> {
    let mut families = layers.iter().filter_map(|layer| Some((layer, layer.planned.family()?)));
    let Some((layer, family)) = families.next() else { return Ok(()) };
    match families.find(|(_, other)| *other != family) {
        Some((other, other_family)) if on_error == OnError::Abort => Err(Error::SeveralMpis {
            layer: layer.label().to_owned(),
            family,
            other: other.label().to_owned(),
            other_family,
        }),
        _ => Ok(()),
    }
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
            let layer = tools[example].label().to_owned();
            return Err(Error::TooManyLayers { count, left: namespaces.free, layer, reason });
        }
    }
    Ok(())
}

/// A variable left over in the shell wins over the file that was given just now: right, but easily overlooked.
fn ignored_order(stack: &StackArgs, resolved: &Resolved) -> Option<Warning> {
    let (path, config) = resolved.config.as_ref()?;
    let left_over = stack.tools.is_empty() && resolved.stack.origin == Origin::ToolList;
    (left_over && stack.config.is_some() && config.stack.is_some()).then(|| {
        Warning::new(
            format!("QMPI_TOOL_LIST is set and wins over `stack` of {}", path.display()),
            "unset QMPI_TOOL_LIST, or name the tools with -t",
        )
    })
}

/// Sections that no layer has: the name of one may be misspelt, in the file or on the command line. A file may well have more sections than
/// one stack uses.
fn unused_sections(resolved: &Resolved) -> Option<Warning> {
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

fn skip(label: &str, error: &Error) -> Warning {
    Warning::new(format!("layer `{label}` is skipped: {error}"), error.hint())
}
