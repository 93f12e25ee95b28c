//! From a layer to what its file is: each file is inspected once, and refused if it cannot be a layer.

use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

use qmpi_elf::{Effect, SearchPath, Tool, ToolKind, is_mpi_soname};

use crate::{Layer, LayerKind, OwnCalls, Planned, Refusal};

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
    #[must_use]
    pub fn new(search: &'a SearchPath) -> Self {
        Self { search, files: HashMap::new() }
    }

    /// Inspects the file of `layer`. `is_shared` tells by SONAME which libraries the process has once for all its tools, besides those
    /// of the layer's `share`.
    ///
    /// # Errors
    /// Everything that keeps it from being a layer, as far as its file shows.
    pub fn plan(&mut self, layer: Layer, is_shared: &dyn Fn(&str) -> bool) -> Result<Planned, Refusal> {
        if layer.is_name_only() {
            pmpi_only(&layer, "a name that the program registers")?;
            return Ok(Planned { layer, kind: LayerKind::Registered });
        }
        let tool = self.tool(&layer, is_shared)?;
        let path = || layer.path.clone();
        let kind = match &tool.kind {
            ToolKind::MpiLibrary => return Err(Refusal::IsMpi { path: path() }),
            ToolKind::None { reason } => return Err(Refusal::NotATool { path: path(), reason: reason.clone() }),
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
            return Err(Refusal::IsMpi { path: library.path().to_owned() });
        }
        if let Some(missing) = tool.closure.missing.first() {
            return Err(match &missing.error {
                Some(error) => Refusal::WillNotLoad { path: path(), message: error.to_string() },
                None => Refusal::MissingLibrary { by: missing.needed_by.clone(), library: missing.name.clone() },
            });
        }
        if let Some(hazard) = tool.hazards.iter().find(|hazard| hazard.effect == Effect::Fatal) {
            return Err(Refusal::WillNotLoad { path: path(), message: hazard.text.clone() });
        }
        layer.settings.wraps.check(&tool)?;
        Ok(Planned { layer, kind })
    }

    fn tool(&mut self, layer: &Layer, is_shared: &dyn Fn(&str) -> bool) -> Result<Rc<Tool>, Refusal> {
        let files = (layer.path.clone(), layer.settings.with.clone(), layer.settings.share.clone());
        if let Some(tool) = self.files.get(&files) {
            return Ok(Rc::clone(tool));
        }
        let shared = |name: &str| layer.settings.share.iter().any(|share| share == name) || is_shared(name);
        let tool = Rc::new(Tool::inspect_with(&layer.path, &layer.settings.with, self.search, &shared)?);
        self.files.insert(files, Rc::clone(&tool));
        Ok(tool)
    }
}

/// Refuses settings that only a PMPI tool can have.
fn pmpi_only(layer: &Layer, what: &'static str) -> Result<(), Refusal> {
    let setting = match (layer.settings.with.is_empty(), layer.settings.own_calls) {
        (true, OwnCalls::Visible) => return Ok(()),
        (true, OwnCalls::Hidden) => "own_calls",
        (false, _) => "with",
    };
    Err(Refusal::PmpiOnly { path: layer.path.clone(), setting, what })
}
