//! What the tables of a loaded object say of one symbol.

use std::ffi::CStr;

use qmpi_dynamic::SymbolKind;
use qmpi_elf::write::provider::ProvidedKind;

/// A symbol in the dynamic symbol table of a loaded object.
#[derive(Debug, Clone, Copy)]
pub struct ImageSymbol {
    /// Its name.
    pub name: &'static CStr,
    /// Its place in the symbol table.
    pub(crate) index: usize,
    /// What it is.
    pub kind: SymbolKind,
    /// Defined here, or only referred to?
    pub defined: bool,
    /// Its address in this process; for an [`SymbolKind::Ifunc`] that of the resolver. 0 when not defined.
    pub address: usize,
}

impl ImageSymbol {
    /// How a provider shows it.
    pub(crate) fn provided_kind(&self) -> ProvidedKind {
        if self.kind == SymbolKind::Data { ProvidedKind::Data } else { ProvidedKind::Function }
    }

    /// Can its address be called as it is?
    pub(crate) fn is_callable(&self) -> bool {
        matches!(self.kind, SymbolKind::Function | SymbolKind::Untyped | SymbolKind::Other)
    }
}

/// One of several definitions of a name.
#[derive(Debug, Clone, Copy)]
pub struct Definition {
    /// The symbol.
    pub symbol: ImageSymbol,
    /// Its version.
    pub version: DefinedVersion,
}

/// The references that a definition is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefinedVersion {
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
