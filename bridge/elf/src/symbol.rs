//! Dynamic symbols: what an object offers to others and what it wants from them.
//!
//! A [`Symbol`] borrows its name from the file's string table, so walking the 6,000 symbols of a
//! C++ runtime allocates nothing.

use goblin::elf::section_header::{SHN_ABS, SHN_UNDEF};
use goblin::elf::sym;

use crate::string_table::StringTable;
use crate::version::{SymbolVersion, Version, VersionTable};

/// Size of an Elf64_Sym: st_name u32, st_info u8, st_other u8, st_shndx u16, st_value u64, st_size u64.
pub(crate) const ENTRY_SIZE: u64 = 24;

/// What a symbol stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SymbolKind {
    /// `STT_FUNC`.
    Function,
    /// `STT_OBJECT` or `STT_COMMON`.
    Data,
    /// `STT_TLS`: one per thread; its value is an offset and no address.
    Tls,
    /// `STT_GNU_IFUNC`: a function that returns the function.
    IFunc,
    /// `STT_NOTYPE`: usual for imports of a library that was not linked with what it calls.
    Untyped,
    /// Any other type.
    Other,
}

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
#[derive(Debug, Default)]
pub(crate) struct SymbolTable {
    pub(crate) entries: Vec<u8>,
    pub(crate) strings: StringTable,
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
        Symbols { table: self, next: 0, select }
    }

    /// Symbol number `index`, as a relocation names it.
    pub(crate) fn symbol(&self, index: usize) -> Option<Symbol<'_>> {
        let entry = self.entries.chunks_exact(ENTRY_SIZE as usize).nth(index)?;
        decode(self, index, entry.try_into().ok()?, Select::default())
    }

    /// Number of STB_GNU_UNIQUE definitions.
    pub(crate) fn unique_count(&self) -> usize {
        self.entries
            .chunks_exact(ENTRY_SIZE as usize)
            .filter(|entry| sym::st_bind(entry[4]) == sym::STB_GNU_UNIQUE)
            .count()
    }
}

/// Iterator over the symbols of a file: see [`crate::ElfFile::symbols`].
#[derive(Debug, Clone)]
pub struct Symbols<'a> {
    table: &'a SymbolTable,
    next: usize,
    select: Select,
}

impl<'a> Iterator for Symbols<'a> {
    type Item = Symbol<'a>;

    fn next(&mut self) -> Option<Symbol<'a>> {
        loop {
            let index = self.next;
            let from = index.checked_mul(ENTRY_SIZE as usize)?;
            let entry: &[u8; ENTRY_SIZE as usize] =
                self.table.entries.get(from..from + ENTRY_SIZE as usize)?.try_into().ok()?;
            self.next += 1;
            if let Some(symbol) = decode(self.table, index, entry, self.select) {
                return Some(symbol);
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some((self.table.entries.len() / ENTRY_SIZE as usize).saturating_sub(self.next)))
    }
}

/// `None` for what the dynamic linker does not bind: the null symbol, local and hidden ones, and
/// entries whose name lies outside of the string table.
fn decode<'a>(
    table: &'a SymbolTable,
    index: usize,
    entry: &[u8; ENTRY_SIZE as usize],
    select: Select,
) -> Option<Symbol<'a>> {
    let [n0, n1, n2, n3, info, other, s0, s1, rest @ ..] = *entry;
    let name_at = u32::from_le_bytes([n0, n1, n2, n3]);
    let section = u32::from(u16::from_le_bytes([s0, s1]));
    let [v0, v1, v2, v3, v4, v5, v6, v7, z0, z1, z2, z3, z4, z5, z6, z7] = rest;

    let defined = section != SHN_UNDEF;
    let binding = sym::st_bind(info);
    let bound = matches!(binding, sym::STB_GLOBAL | sym::STB_WEAK | sym::STB_GNU_UNIQUE);
    let visible = matches!(sym::st_visibility(other), sym::STV_DEFAULT | sym::STV_PROTECTED);
    if name_at == 0 || !bound || (defined && !visible) {
        return None;
    }
    if select.defined.is_some_and(|wanted| wanted != defined)
        || (select.plain_only && table.strings.starts_with(name_at, b"_Z"))
    {
        return None;
    }
    let version = match table.versions.of(index, &table.strings) {
        // GNU ld gives 0 also to undefined symbols that it bound to nothing with a version.
        SymbolVersion::Local if defined => return None,
        SymbolVersion::Local | SymbolVersion::Unversioned => None,
        SymbolVersion::Named(version) => Some(version),
    };
    Some(Symbol {
        name: table.strings.get(name_at)?,
        version,
        defined,
        kind: match sym::st_type(info) {
            sym::STT_FUNC => SymbolKind::Function,
            sym::STT_OBJECT | sym::STT_COMMON => SymbolKind::Data,
            sym::STT_TLS => SymbolKind::Tls,
            sym::STT_GNU_IFUNC => SymbolKind::IFunc,
            sym::STT_NOTYPE => SymbolKind::Untyped,
            _ => SymbolKind::Other,
        },
        weak: binding == sym::STB_WEAK,
        unique: binding == sym::STB_GNU_UNIQUE,
        absolute: section == SHN_ABS,
        value: u64::from_le_bytes([v0, v1, v2, v3, v4, v5, v6, v7]),
        size: u64::from_le_bytes([z0, z1, z2, z3, z4, z5, z6, z7]),
    })
}
