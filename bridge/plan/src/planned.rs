//! A layer of which it is known what its file is.

use std::collections::BTreeSet;
use std::rc::Rc;

use qmpi_abi::{FnId, MpiFamily, classify};
use qmpi_elf::Tool;

use crate::{Layer, PlanError};

/// A layer whose file can be loaded, as far as it shows.
#[derive(Debug, Clone)]
pub struct Planned {
    /// The layer with its settings.
    pub layer: Layer,
    /// How it is loaded.
    pub kind: LayerKind,
}

/// How a layer is loaded.
#[derive(Debug, Clone)]
pub enum LayerKind {
    /// A PMPI tool: into a namespace.
    Pmpi(Rc<Tool>),
    /// A QMPI tool: it registers itself.
    Qmpi(Rc<Tool>),
    /// A tool of the 2018 prototype.
    Thesis(Rc<Tool>),
    /// A name without a file: the program, or a library that is there already, registers it.
    Registered,
}

impl Planned {
    /// The label within the stack.
    pub fn label(&self) -> &str {
        &self.layer.label
    }

    /// What its file is; `None` for a name without one.
    pub fn tool(&self) -> Option<&Tool> {
        match &self.kind {
            LayerKind::Pmpi(tool) | LayerKind::Qmpi(tool) | LayerKind::Thesis(tool) => Some(tool),
            LayerKind::Registered => None,
        }
    }

    /// What its file is, if that is a PMPI tool.
    pub fn pmpi(&self) -> Option<&Tool> {
        match &self.kind {
            LayerKind::Pmpi(tool) => Some(tool),
            LayerKind::Qmpi(_) | LayerKind::Thesis(_) | LayerKind::Registered => None,
        }
    }

    /// Whether it is a PMPI tool that cannot share a namespace with other instances, and why.
    pub fn clone_obstacle(&self) -> Option<String> {
        self.pmpi()?.clone_obstacle()
    }

    /// Whether it is a PMPI tool that cannot share a namespace with other instances.
    pub fn needs_namespace(&self) -> bool {
        self.clone_obstacle().is_some()
    }

    /// The MPI it is built for; `None` if it works with any.
    pub fn family(&self) -> Option<MpiFamily> {
        self.tool()?.abi
    }

    /// The C functions whose calls arrive at a PMPI tool: those that its file and the libraries before it define, less what the
    /// settings leave out. Wrappers in a library that it needs are not used under `LD_PRELOAD` either: they come after MPI's own.
    pub fn wrappers(&self) -> impl Iterator<Item = FnId> + '_ {
        let parts = self.pmpi().into_iter().flat_map(Tool::parts);
        let all: BTreeSet<FnId> = parts.flat_map(|part| &part.intercepts).copied().collect();
        all.into_iter().filter(|id| self.layer.lets(*id))
    }

    /// The symbol names of Fortran procedures whose calls arrive at a PMPI tool, with the function of MPI that each stands for.
    pub fn fortran_wrappers(&self) -> impl Iterator<Item = (&str, FnId)> + '_ {
        let parts = self.pmpi().into_iter().flat_map(Tool::parts);
        let names: BTreeSet<&str> = parts.flat_map(|part| &part.fortran_wrappers).map(String::as_str).collect();
        names.into_iter().filter_map(|name| Some((name, classify(name)?.id))).filter(|(_, id)| self.layer.lets(*id))
    }

    /// The functions that are not MPI's and whose calls by the program and its libraries arrive at a PMPI tool. Sorted.
    pub fn wrapped(&self) -> Vec<&str> {
        self.pmpi().map_or_else(Vec::new, |tool| self.layer.settings.wraps.of(tool))
    }

    /// Compares the MPI that it is built for with the one that `user`, a program or a process, uses.
    ///
    /// # Errors
    /// It is another one: handles and constants have other types and values there.
    pub fn check_mpi(&self, user: &str, family: MpiFamily, mpi: &str) -> Result<(), PlanError> {
        match self.family().filter(|tool| *tool != family) {
            None => Ok(()),
            Some(tool) => Err(PlanError::new(
                format!("{} is built for {tool}, but {user} uses {mpi}", self.layer.path.display()),
                format!("use the tool's build for {mpi}"),
            )),
        }
    }
}
