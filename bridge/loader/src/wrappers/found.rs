//! The wrappers of a file of a tool that has been loaded: where they are.

use std::ffi::{CStr, CString};

use qmpi_elf::Name;

use crate::image::version::{Definition, Version};
use crate::image::{Image, SymbolKind};
use crate::link_map::{self, Handle};

/// A loaded file of a tool.
pub(crate) struct Wrappers {
    handle: Handle,
    image: Option<Image>,
}

impl Wrappers {
    pub(crate) fn of(handle: Handle) -> Wrappers {
        Wrappers { handle, image: handle.map().and_then(link_map::image) }
    }

    /// The tool, where it has symbols.
    pub(crate) fn image(&self) -> Option<&Image> {
        self.image.as_ref()
    }

    /// The functions that the tool defines as `PMPI_f`.
    pub(crate) fn profiling(&self) -> Vec<(&'static CStr, usize)> {
        let symbols = self.image.iter().flat_map(Image::symbols_of_mpi);
        let own = symbols.filter(|symbol| symbol.defined && symbol.kind == SymbolKind::Function);
        own.filter(|symbol| symbol.name.to_bytes().starts_with(b"PMPI_"))
            .map(|symbol| (symbol.name, symbol.address))
            .collect()
    }

    /// The address of a function that the tool's own file defines, as a program's reference without a version gets it.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        let symbol = self.image.as_ref().and_then(|image| image.find_unversioned(Name::from(name)));
        let symbol = symbol.filter(|symbol| symbol.kind == SymbolKind::Function);
        // A function that is chosen at run time: glibc knows which. It takes ten times as long.
        symbol.map(|symbol| symbol.address).or_else(|| self.handle.find(&CString::new(name).ok()?))
    }

    /// The definitions of the same function and their addresses, if they have versions.
    pub(crate) fn versions(&self, name: &str) -> Vec<(Version, usize)> {
        let Some(image) = self.image.as_ref().filter(|image| image.versions().is_some()) else { return Vec::new() };
        let Ok(name) = CString::new(name) else { return Vec::new() };
        let definitions = image.definitions(&name);
        let mut versions = Vec::with_capacity(definitions.len());
        for Definition { symbol, version } in definitions {
            let address = match (symbol.kind, version) {
                (SymbolKind::Function, _) => Some(symbol.address),
                // Chosen at run time, as above.
                (_, Version::Named { name: version, .. }) => self.handle.find_version(&name, version),
                (_, Version::Unversioned { .. }) => None,
            };
            versions.extend(address.map(|address| (version, address)));
        }
        versions
    }
}
