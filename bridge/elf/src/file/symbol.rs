//! Symbols of a file with their names as text: what an object offers to others and what it wants from them.
//!
//! A name is borrowed from the file's string table, so walking the 6,000 symbols of a C++ runtime allocates nothing.

use std::ops::Deref;

use qmpi_dynamic::Symbol;

/// A version that a file needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededVersion {
    pub(crate) number: u16,
    /// The SONAME of the library that has to define it.
    pub file: String,
    /// As in `GLIBC_2.34`.
    pub name: String,
}

/// One dynamic symbol that other objects can see, or that the object imports.
#[derive(Debug, Clone, Copy)]
pub struct NamedSymbol<'a> {
    /// Without the version.
    pub name: &'a str,
    /// Defined here, where the dynamic linker finds it; otherwise imported.
    pub defined: bool,
    /// The version that an import asks for, if it does.
    pub version: Option<&'a NeededVersion>,
    pub(crate) symbol: Symbol<'a>,
}

impl<'a> Deref for NamedSymbol<'a> {
    type Target = Symbol<'a>;

    fn deref(&self) -> &Symbol<'a> {
        &self.symbol
    }
}
