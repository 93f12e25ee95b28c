//! Functions that are not MPI's and that layers wrap: the stack of each is like that of a function of MPI.

use std::collections::HashMap;
use std::ffi::CStr;

use qmpi_elf::Name;
use qmpi_overrides::answers::NextOther;

use crate::image::symbol::DefinedVersion;
use crate::image::{Image, SymbolKind};
use crate::stand_ins;

/// A wrapper of a layer.
#[derive(Debug, Clone)]
pub struct LibraryWrapper {
    /// The function.
    pub name: &'static CStr,
    /// What references without a version get, and `dlsym` where it finds no other.
    pub address: usize,
    /// All definitions, if they have versions.
    pub versions: Vec<(DefinedVersion, usize)>,
}

impl LibraryWrapper {
    /// The definition that a reference to `version` gets, or one to none.
    pub fn referred(&self, version: Option<&CStr>) -> Option<usize> {
        let Some(version) = version.filter(|_| !self.versions.is_empty()) else { return Some(self.address) };
        let is_it = |(known, _): &&(DefinedVersion, usize)| match known {
            DefinedVersion::Named { name, .. } => *name == version,
            DefinedVersion::Unversioned { is_hidden } => !is_hidden,
        };
        self.versions.iter().find(is_it).map(|(_, address)| *address)
    }

    /// The definition that `dlsym` finds.
    pub fn looked_up(&self) -> usize {
        let is_default =
            |(version, _): &&(DefinedVersion, usize)| matches!(version, DefinedVersion::Named { is_default: true, .. });
        self.versions.iter().find(is_default).map_or(self.address, |(_, address)| *address)
    }
}

/// What a layer has besides functions of MPI.
#[derive(Debug, Clone, Default)]
pub struct Others {
    /// Its wrappers.
    pub wrapped: Vec<LibraryWrapper>,
    /// What it defines as `PMPI_f`.
    pub profiling: Vec<(&'static CStr, usize)>,
    /// The files of its tool, for names that nothing else in the process defines.
    pub files: Vec<Image>,
}

/// The same of the layers that have been loaded so far.
#[derive(Debug, Default)]
pub struct Stacked {
    /// The innermost first.
    layers: Vec<Others>,
    /// What each function is for a tool on top of all.
    top: HashMap<&'static CStr, usize>,
}

impl Stacked {
    /// A layer stands on top from now on.
    pub fn push(&mut self, layer: Others) {
        self.top.extend(layer.wrapped.iter().map(|wrapped| (wrapped.name, wrapped.looked_up())));
        self.layers.push(layer);
    }

    /// Is there no layer that has a tool?
    pub fn is_empty(&self) -> bool {
        self.layers.iter().all(|others| others.files.is_empty())
    }

    /// The function or variable of this name that the outermost tool which has one defines. Takes no lock.
    pub fn exported(&self, name: &CStr) -> Option<usize> {
        self.exports(name).next()
    }

    /// Is this address that of a function or variable which a tool defines under this name? Takes no lock.
    pub fn is_exported(&self, name: &CStr, address: usize) -> bool {
        self.exports(name).any(|exported| exported == address)
    }

    /// The definitions of this name, the outermost tool's first.
    fn exports(&self, name: &CStr) -> impl Iterator<Item = usize> {
        let name = Name::from(name);
        let files = self.layers.iter().rev().flat_map(|others| &others.files);
        files.filter_map(move |image| {
            let symbol = image.find(name)?;
            (symbol.is_callable() || symbol.kind == SymbolKind::Data).then_some(symbol.address)
        })
    }

    /// The wrappers of a function, the outermost first.
    pub fn of<'a>(&'a self, name: &CStr) -> impl Iterator<Item = &'a LibraryWrapper> {
        self.layers.iter().rev().flat_map(|others| &others.wrapped).filter(move |wrapped| wrapped.name == name)
    }

    /// The functions that tools define as `PMPI_f`, each of the outermost tool that does.
    pub fn profiling(&self) -> HashMap<&'static CStr, usize> {
        self.layers.iter().flat_map(|others| others.profiling.iter().copied()).collect()
    }

    /// What each function is for a tool on top of all.
    pub fn top(&self) -> &HashMap<&'static CStr, usize> {
        &self.top
    }
}

/// What `dlsym(RTLD_NEXT, ...)` finds for a tool that stands above `below`: sorted by hash, as it is looked up without an allocation.
/// `wraps` are the functions that the tool wraps itself, and `look_ups` what of these `dlsym` and `dlvsym` go on to. `of_process` are those of
/// which a private library of the tool has a definition that the process does not use.
pub(crate) fn next_functions(
    below: &HashMap<&'static CStr, usize>,
    wraps: &[&str],
    look_ups: &[(&'static CStr, usize)],
    of_process: impl Iterator<Item = (&'static CStr, usize)>,
) -> &'static [NextOther] {
    let is_look_up = |name: &CStr| look_ups.iter().any(|(known, _)| *known == name);
    let others = below.iter().map(|(name, address)| (*name, *address)).filter(|(name, _)| !is_look_up(name));
    let mut next: Vec<NextOther> =
        others.chain(look_ups.iter().copied()).map(|(name, address)| of(name, address)).collect();
    // glibc's own would open libraries in the tool's namespace.
    if wraps.contains(&"dlopen") && !below.contains_key(c"dlopen") {
        next.push(of(c"dlopen", stand_ins::dlopen_for_program()));
    }
    next.extend(of_process.filter(|(name, _)| !below.contains_key(name)).map(|(name, address)| of(name, address)));
    next.sort_unstable_by_key(|next| next.hash);
    Box::leak(next.into_boxed_slice())
}

fn of(name: &'static CStr, address: usize) -> NextOther {
    NextOther { hash: Name::from(name).hash(), name, address }
}
