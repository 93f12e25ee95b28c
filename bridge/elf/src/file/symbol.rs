//! Dynamic symbols: what an object offers to others and what it wants from them.
//!
//! A [`Symbol`] borrows its name from the file's string table, so walking the 6,000 symbols of a
//! C++ runtime allocates nothing.

pub use qmpi_dynamic::SymbolKind;
use qmpi_dynamic::Tables;

use crate::file::tables::FileTables;
use crate::file::version::{Version, VersionTable};

/// One dynamic symbol that other objects can see, or that the object imports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// Without the version.
    pub name: &'a str,
    /// Its version, if the object uses versions and this symbol has one.
    pub version: Option<Version<'a>>,
    /// Defined here; otherwise imported.
    pub defined: bool,
    /// Function, data, ...
    pub kind: SymbolKind,
    /// A definition that gives way (not for ld.so), or an import that may stay unresolved.
    pub weak: bool,
    /// `STB_GNU_UNIQUE`: one per namespace, whatever the scope.
    pub unique: bool,
    /// `SHN_ABS`: the value is not relocated.
    pub absolute: bool,
    /// Address before relocation.
    pub value: u64,
    /// In bytes; 0 if not known.
    pub size: u64,
}

/// Everything needed to walk the symbols of a file.
#[derive(Debug)]
pub(crate) struct SymbolTable {
    pub(crate) tables: FileTables,
    pub(crate) versions: VersionTable,
}

/// Which symbols to walk over. Decided before a name is measured: that is what a walk costs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Select {
    /// Definitions only (`true`), imports only (`false`).
    pub(crate) defined: Option<bool>,
    /// Leave mangled C++ names (`_Z...`) out.
    pub(crate) plain_only: bool,
}

impl SymbolTable {
    pub(crate) fn iter(&self, select: Select) -> Symbols<'_> {
        let view = self.tables.view();
        Symbols { table: self, symbols: view.symbols(), view, select }
    }

    /// Symbol number `index`, as a relocation names it.
    pub(crate) fn symbol(&self, index: usize) -> Option<Symbol<'_>> {
        let view = self.tables.view();
        self.decode(&view, view.symbol(index)?, Select::default())
    }

    /// Number of STB_GNU_UNIQUE definitions.
    pub(crate) fn unique_count(&self) -> usize {
        self.tables.view().symbols().filter(qmpi_dynamic::Symbol::is_unique).count()
    }

    /// `None` for what the dynamic linker does not bind: local and hidden symbols, those without a name, and those whose name
    /// lies outside of the string table.
    fn decode<'a>(&'a self, view: &Tables<'a>, symbol: qmpi_dynamic::Symbol<'a>, select: Select) -> Option<Symbol<'a>> {
        // A definition that ld.so does not find is one of no reference, and its own are looked for elsewhere.
        let (name_at, defined) = (symbol.name_offset(), symbol.is_found_by_linker());
        let strings = &self.tables.strings;
        if name_at == 0 || !symbol.is_global() {
            return None;
        }
        if select.defined.is_some_and(|wanted| wanted != defined)
            || (select.plain_only && strings.starts_with(name_at, b"_Z"))
        {
            return None;
        }
        let version = self.versions.of(view.version_index(symbol.index()));
        Some(Symbol {
            name: strings.get(name_at)?,
            version,
            defined,
            kind: symbol.kind(),
            weak: symbol.is_weak(),
            unique: symbol.is_unique(),
            absolute: symbol.is_absolute(),
            value: symbol.value(),
            size: symbol.size(),
        })
    }
}

/// Iterator over the symbols of a file: see [`crate::ElfFile::symbols`].
#[derive(Debug, Clone)]
pub struct Symbols<'a> {
    table: &'a SymbolTable,
    view: Tables<'a>,
    symbols: qmpi_dynamic::Symbols<'a>,
    select: Select,
}

impl<'a> Iterator for Symbols<'a> {
    type Item = Symbol<'a>;

    fn next(&mut self) -> Option<Symbol<'a>> {
        let (table, view, select) = (self.table, &self.view, self.select);
        self.symbols.find_map(|symbol| table.decode(view, symbol, select))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, self.symbols.size_hint().1)
    }
}
