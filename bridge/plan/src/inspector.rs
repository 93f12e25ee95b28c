//! From a layer to what its file is: each file is inspected once, and refused if it cannot be a layer.

use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

use qmpi_elf::{Effect, SearchPath, Tool, ToolKind};

use crate::{Kind, Layer, Planned, Refusal};

/// Inspects the files of layers.
#[derive(Debug)]
pub struct Inspector<'a> {
    search: &'a SearchPath,
    /// A tool may be in the stack several times.
    files: HashMap<PathBuf, Rc<Tool>>,
}

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
            return Ok(Planned { layer, kind: Kind::Registered });
        }
        let tool = self.tool(&layer, is_shared)?;
        let path = || layer.path.clone();
        let kind = match &tool.kind {
            ToolKind::MpiLibrary => return Err(Refusal::IsMpi { path: path() }),
            ToolKind::None { reason } => return Err(Refusal::NotATool { path: path(), reason: reason.clone() }),
            ToolKind::Pmpi => Kind::Pmpi(Rc::clone(&tool)),
            ToolKind::Qmpi => Kind::Qmpi(Rc::clone(&tool)),
            ToolKind::Thesis => Kind::Thesis(Rc::clone(&tool)),
        };
        if let Some(missing) = tool.closure.missing.first() {
            return Err(match &missing.error {
                Some(error) => Refusal::WillNotLoad { path: path(), message: error.to_string() },
                None => Refusal::MissingLibrary { by: missing.needed_by.clone(), library: missing.name.clone() },
            });
        }
        if let Some(hazard) = tool.hazards.iter().find(|hazard| hazard.effect == Effect::Fatal) {
            return Err(Refusal::WillNotLoad { path: path(), message: hazard.text.clone() });
        }
        layer.wraps.check(&tool)?;
        Ok(Planned { layer, kind })
    }

    fn tool(&mut self, layer: &Layer, is_shared: &dyn Fn(&str) -> bool) -> Result<Rc<Tool>, Refusal> {
        // With libraries of its own `share` a tool may have another closure.
        let is_plain = layer.share.is_empty();
        if let Some(tool) = self.files.get(&layer.path).filter(|_| is_plain) {
            return Ok(Rc::clone(tool));
        }
        let shared = |name: &str| layer.share.iter().any(|share| share == name) || is_shared(name);
        let tool = Rc::new(Tool::inspect(&layer.path, self.search, &shared)?);
        if is_plain {
            self.files.insert(layer.path.clone(), Rc::clone(&tool));
        }
        Ok(tool)
    }
}
