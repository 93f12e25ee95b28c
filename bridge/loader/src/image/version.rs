//! The symbol versions that a loaded object defines, in the order in which a provider defines them again.

use std::ffi::CStr;

use qmpi_dynamic::Tables;

use crate::image::Symbol;

/// The versions of one object.
#[derive(Debug, Clone)]
pub struct ImageVersions {
    tables: Tables<'static>,
    /// By number.
    names: Vec<(u16, &'static CStr)>,
}

/// The version of a symbol.
#[derive(Debug, Clone, Copy)]
pub struct SymbolVersion {
    /// Its name, such as `GLIBC_2.2.5`.
    pub name: &'static CStr,
    /// Its place among [`ImageVersions::names`].
    pub place: u16,
    /// `name@@version`: what a reference without a version gets.
    pub default: bool,
}

/// One of several definitions of a name.
#[derive(Debug, Clone, Copy)]
pub struct Definition {
    /// The symbol.
    pub symbol: Symbol,
    /// Its version.
    pub version: Version,
}

/// The references that a definition is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// References to this version.
    Named {
        /// The version's name.
        name: &'static CStr,
        /// `name@@version`: the one that `dlsym` finds.
        is_default: bool,
    },
    /// References without a version, and to any version unless it is hidden.
    Unversioned {
        /// Not for references to a version.
        is_hidden: bool,
    },
}

impl ImageVersions {
    /// The versions of the object with these tables, if it has an index of them and defines any.
    pub(crate) fn of(tables: &Tables<'static>) -> Option<ImageVersions> {
        tables.version_index(0)?;
        let definitions = tables.version_definitions();
        let mut names: Vec<(u16, &'static CStr)> = definitions
            .filter(|definition| !definition.is_base)
            .filter_map(|definition| Some((definition.number, definition.name()?)))
            .collect();
        tables.version_definitions().next()?;
        names.sort_unstable_by_key(|(number, _)| *number);
        Some(ImageVersions { tables: *tables, names })
    }

    /// The versions in the order of their numbers.
    pub fn names(&self) -> impl Iterator<Item = &'static CStr> + '_ {
        self.names.iter().map(|(_, name)| *name)
    }

    /// The version of symbol number `index` of the same object.
    pub fn of_symbol(&self, index: usize) -> Option<SymbolVersion> {
        let index = self.tables.version_index(index)?;
        let place = self.names.binary_search_by_key(&index.number(), |(number, _)| *number).ok()?;
        let name = self.names[place].1;
        Some(SymbolVersion { name, place: u16::try_from(place).ok()?, default: !index.is_hidden() })
    }
}
