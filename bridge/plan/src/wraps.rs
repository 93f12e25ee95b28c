//! Which functions that are not MPI's reach a layer.

use qmpi_elf::Tool;
use qmpi_elf::tool::wrapped;

use crate::PlanError;
use crate::nearest::did_you_mean;

/// Which functions that are not MPI's reach a layer: those of the C library and others that its tool defines as well.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Wraps {
    /// Those of which the tool's file shows that they are wrappers.
    #[default]
    Evident,
    /// All that the tool exports, as under `LD_PRELOAD`.
    All,
    /// None.
    None,
    /// These.
    Names(Vec<String>),
}

impl Wraps {
    /// The functions of `tool` that they are. Sorted.
    pub fn of<'a>(&'a self, tool: &'a Tool) -> Vec<&'a str> {
        let mut names: Vec<&str> = match self {
            Wraps::Evident => {
                let names = tool.wrapped.iter().map(|wrapped| wrapped.name.as_str());
                let lacks_free = wrapped::lacks_free(&tool.wrapped);
                let is_left_out = |name: &&str| lacks_free && wrapped::is_of_allocator(name);
                names.filter(|name| !is_left_out(name)).collect()
            }
            Wraps::All => {
                let own = tool.has_own_allocator();
                exported(tool).filter(|name| !(own && wrapped::is_of_allocator(name))).collect()
            }
            Wraps::None => Vec::new(),
            Wraps::Names(names) => names.iter().map(String::as_str).collect(),
        };
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Does the tool define what the settings name?
    ///
    /// # Errors
    /// For the first function that it does not define.
    pub fn check(&self, tool: &Tool) -> Result<(), PlanError> {
        let Wraps::Names(names) = self else { return Ok(()) };
        let is_defined = |name: &&String| exported(tool).any(|exported| exported == *name);
        let Some(name) = names.iter().find(|name| !is_defined(name)) else { return Ok(()) };
        let path = tool.closure.root().path().display();
        Err(PlanError::new(
            format!("{path}: `wraps` names {name}, which the tool does not define"),
            did_you_mean(name, exported(tool))
                .unwrap_or_else(|| format!("`qmpi inspect {path}` lists what it defines")),
        ))
    }
}

/// What a tool exports besides functions of MPI.
fn exported(tool: &Tool) -> impl Iterator<Item = &str> {
    tool.closure.parts().flat_map(wrapped::exported)
}
