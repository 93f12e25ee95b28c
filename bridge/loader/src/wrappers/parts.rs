//! The wrappers of a tool of one or several files: the first file that defines a function has its wrapper, as in a list in LD_PRELOAD.

use std::ffi::{CStr, CString};

use qmpi_abi::FnId;
use qmpi_elf::{ObjectDetail, Tool};

use crate::image::symbol::{DefinedVersion, Definition};
use crate::image::{Image, SymbolKind};
use crate::link_map::Handle;

/// The address of a function, and those of its definitions if they have versions.
type Wrapper = (usize, Vec<(DefinedVersion, usize)>);

/// The files of a tool, in the order of their symbols.
pub(crate) struct Parts<'a>(Vec<Part<'a>>);

/// A loaded file of a tool.
struct Part<'a> {
    detail: &'a ObjectDetail,
    handle: Handle,
    /// `None`: it has no symbols.
    image: Option<Image>,
}

impl<'a> Parts<'a> {
    /// Those of `tool`, which are loaded as `handles`, in the same order.
    pub(crate) fn of(tool: &'a Tool, handles: &[Handle]) -> Parts<'a> {
        let part = |(detail, handle): (_, &Handle)| Part {
            detail,
            handle: *handle,
            image: handle.map().and_then(Image::of_map),
        };
        Parts(tool.parts().zip(handles).map(part).collect())
    }

    /// The wrapper of a C function.
    pub(crate) fn find(&self, id: FnId) -> Option<Wrapper> {
        self.0.iter().find(|part| part.detail.intercepts.binary_search(&id).is_ok())?.wrapper(id.name())
    }

    /// The address of the Fortran wrapper of this name.
    pub(crate) fn find_fortran(&self, name: &str) -> Option<usize> {
        self.0.iter().find(|part| part.detail.fortran_wrappers.iter().any(|known| known == name))?.address(name)
    }

    /// The wrapper of a function that is not MPI's.
    pub(crate) fn find_other(&self, name: &str) -> Option<Wrapper> {
        let defines = |part: &&Part<'_>| part.image.as_ref().is_some_and(|image| image.find(name).is_some());
        self.0.iter().find(defines)?.wrapper(name)
    }

    /// The functions that its files define as `PMPI_f`; the first file's counts.
    pub(crate) fn profiling(&self) -> Vec<(&'static CStr, usize)> {
        let symbols = self.0.iter().rev().filter_map(|part| part.image.as_ref()).flat_map(Image::symbols_of_mpi);
        let own = symbols.filter(|symbol| symbol.defined && symbol.kind == SymbolKind::Function);
        own.filter(|symbol| symbol.name.to_bytes().starts_with(b"PMPI_"))
            .map(|symbol| (symbol.name, symbol.address))
            .collect()
    }

    /// Its files.
    pub(crate) fn images(&self) -> impl Iterator<Item = &Image> {
        self.0.iter().filter_map(|part| part.image.as_ref())
    }
}

impl Part<'_> {
    fn wrapper(&self, name: &str) -> Option<Wrapper> {
        Some((self.address(name)?, self.versions(name)))
    }

    /// The address of a function that the file itself defines, as a program's reference without a version gets it.
    fn address(&self, name: &str) -> Option<usize> {
        let symbol = self.image.as_ref().and_then(|image| image.find_unversioned(name));
        let symbol = symbol.filter(|symbol| symbol.kind == SymbolKind::Function);
        // A function that is chosen at run time: glibc knows which. It takes ten times as long.
        symbol.map(|symbol| symbol.address).or_else(|| self.handle.find(&CString::new(name).ok()?))
    }

    fn versions(&self, name: &str) -> Vec<(DefinedVersion, usize)> {
        let Some(image) = self.image.as_ref().filter(|image| image.has_versions()) else { return Vec::new() };
        let Ok(name) = CString::new(name) else { return Vec::new() };
        let address = |Definition { symbol, version }| match (symbol.kind, version) {
            (SymbolKind::Function, _) => Some((version, symbol.address)),
            // Chosen at run time: glibc knows which.
            (_, DefinedVersion::Named { name: of_version, .. }) => {
                Some((version, self.handle.find_version(&name, of_version)?))
            }
            (_, DefinedVersion::Unversioned { .. }) => None,
        };
        image.definitions(&name).into_iter().filter_map(address).collect()
    }
}
