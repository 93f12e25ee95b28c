//! From a layer to what its file is: each file is inspected once, and refused if it cannot be a layer.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use qmpi_elf::{Effect, SearchPath, Tool, ToolKind, is_mpi_soname};

use crate::{Layer, LayerKind, OwnCalls, PlanError, Planned};

/// Inspects the files of layers.
#[derive(Debug)]
pub struct Inspector<'a> {
    search: &'a SearchPath,
    /// A tool may be in the stack several times; by its file, those of `with`, and what it shares.
    files: HashMap<ToolFiles, Rc<Tool>>,
}

/// What a tool consists of: its file, those of `with`, and the libraries of which it has no copy of its own.
type ToolFiles = (PathBuf, Vec<PathBuf>, Vec<String>);

impl<'a> Inspector<'a> {
    /// One that looks libraries up by `search`.
    pub fn new(search: &'a SearchPath) -> Self {
        Self { search, files: HashMap::new() }
    }

    /// Inspects the file of `layer`. `is_shared` tells by SONAME which libraries the process has once for all its tools, besides those
    /// of the layer's `share`.
    ///
    /// # Errors
    /// Everything that keeps it from being a layer, as far as its file shows.
    pub fn plan(&mut self, layer: Layer, is_shared: &dyn Fn(&str) -> bool) -> Result<Planned, PlanError> {
        if layer.is_name_only() {
            pmpi_only(&layer, "a name that the program registers")?;
            return Ok(Planned { layer, kind: LayerKind::Registered });
        }
        let tool = self.tool(&layer, is_shared)?;
        let path = layer.path.display();
        let refused = |message: &str| {
            Err(PlanError::new(format!("{path}: {message}"), format!("`qmpi inspect {path}` shows what it needs")))
        };
        let kind = match &tool.kind {
            ToolKind::MpiLibrary => return Err(is_mpi(&layer.path)),
            ToolKind::None { reason } => {
                let message = format!("{path} is not an MPI tool: {reason}");
                return Err(PlanError::new(message, format!("`qmpi inspect {path}` shows what it is")));
            }
            ToolKind::Pmpi => LayerKind::Pmpi(Rc::clone(&tool)),
            ToolKind::Qmpi => {
                pmpi_only(&layer, "a QMPI tool")?;
                LayerKind::Qmpi(Rc::clone(&tool))
            }
            ToolKind::Thesis => {
                pmpi_only(&layer, "a tool of the 2018 prototype")?;
                LayerKind::Thesis(Rc::clone(&tool))
            }
        };
        if let Some(library) = tool.closure.before().iter().find(|library| is_mpi_soname(library.name())) {
            return Err(is_mpi(library.path()));
        }
        if let Some(missing) = tool.closure.missing.first() {
            return match &missing.error {
                Some(error) => refused(&error.to_string()),
                None => Err(PlanError::new(
                    format!("{} needs {}, which is not found", missing.needed_by, missing.name),
                    "load the tool's module, or add the library's directory to LD_LIBRARY_PATH",
                )),
            };
        }
        // The dynamic linker will refuse it, or it works with no MPI.
        if let Some(hazard) = tool.hazards.iter().find(|hazard| hazard.effect == Effect::Fatal) {
            return refused(&hazard.text);
        }
        layer.settings.wraps.check(&tool)?;
        Ok(Planned { layer, kind })
    }

    fn tool(&mut self, layer: &Layer, is_shared: &dyn Fn(&str) -> bool) -> Result<Rc<Tool>, PlanError> {
        let files = (layer.path.clone(), layer.settings.with.clone(), layer.settings.share.clone());
        if let Some(tool) = self.files.get(&files) {
            return Ok(Rc::clone(tool));
        }
        let shared = |name: &str| layer.settings.share.iter().any(|share| share == name) || is_shared(name);
        let tool = Rc::new(Tool::inspect(&layer.path, &layer.settings.with, self.search, &shared)?);
        self.files.insert(files, Rc::clone(&tool));
        Ok(tool)
    }
}

/// An MPI library was given where a tool belongs.
fn is_mpi(path: &Path) -> PlanError {
    PlanError::new(
        format!("{} is an MPI library, not a tool", path.display()),
        "the application brings its own MPI library; name only tools",
    )
}

/// Refuses settings that only a PMPI tool can have, because it has a namespace of its own.
fn pmpi_only(layer: &Layer, what: &str) -> Result<(), PlanError> {
    let (setting, hint) = if !layer.settings.with.is_empty() {
        ("with", "link the tool with these libraries, or preload them: it is loaded into the program's own namespace")
    } else if layer.settings.own_calls == OwnCalls::Hidden {
        ("own_calls", "leave `own_calls` out: such a tool says with each call which layers it goes past")
    } else {
        return Ok(());
    };
    let message = format!("{}: `{setting}` is for PMPI tools, and this is {what}", layer.path.display());
    Err(PlanError::new(message, hint))
}
