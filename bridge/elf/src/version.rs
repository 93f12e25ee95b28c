//! Symbol versions: the names that a file defines and needs, and the version of each symbol.
//!
//! Read as in the LSB, "Symbol Versioning", and glibc elf/dl-version.c.

use std::ops::Range;

use crate::dynamic::DynamicTable;
use crate::error::Error;
use crate::image::{Image, u16_at, u32_at};
use crate::string_table::StringTable;

/// `VERSYM_HIDDEN`: not the default version of its name (`name@VERSION` rather than `name@@VERSION`).
const HIDDEN: u16 = 0x8000;
/// `VER_FLG_BASE`: the entry that names the library itself.
const BASE: u16 = 1;
/// A version index has 15 bits, so no file can have more versions than this.
const MAX_VERSIONS: u64 = 0x8000;

/// The version of one symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Version<'a> {
    /// As in `GLIBC_2.34`.
    pub name: &'a str,
    /// For a definition: whether an unversioned reference gets this one (`@@`). Never for an import.
    pub default: bool,
    /// For an import: the SONAME that the version was bound to when the file was linked.
    pub file: Option<&'a str>,
}

/// What the version index of a symbol says.
pub(crate) enum SymbolVersion<'a> {
    /// Index 0: not visible outside of the file.
    Local,
    /// Index 1, or a file without versions.
    Unversioned,
    Named(Version<'a>),
}

/// A version by its index. Its names are measured once: thousands of symbols refer to it.
#[derive(Debug, Clone, Default)]
struct Entry {
    /// In the string table.
    name: Range<usize>,
    /// In the string table; empty for a definition.
    file: Range<usize>,
}

/// Every version of a file, by index, and the index of every symbol.
#[derive(Debug, Default)]
pub(crate) struct VersionTable {
    /// DT_VERSYM: u16 per symbol.
    indexes: Vec<u8>,
    entries: Vec<Entry>,
    /// (file, version), in the order of the file.
    pub(crate) needs: Vec<(String, String)>,
    pub(crate) definitions: Vec<String>,
}

impl VersionTable {
    pub(crate) fn read(
        image: &Image,
        dynamic: &DynamicTable,
        strings: &StringTable,
        symbol_count: u64,
    ) -> Result<VersionTable, Error> {
        let mut table = VersionTable::default();
        let Some(versym) = dynamic.versym else {
            return Ok(table);
        };
        table.indexes = image.read_at_address("symbol version table (DT_VERSYM)", versym, symbol_count * 2)?;
        if let Some((address, count)) = dynamic.verdef {
            table.read_definitions(image, dynamic, strings, address, count)?;
        }
        if let Some((address, count)) = dynamic.verneed {
            table.read_needs(image, dynamic, strings, address, count)?;
        }
        Ok(table)
    }

    /// Elfxx_Verdef: vd_version, vd_flags, vd_ndx, vd_cnt: u16; vd_hash, vd_aux, vd_next: u32.
    /// Its first Elfxx_Verdaux (vda_name, vda_next: u32) is the name; further ones are its parents.
    fn read_definitions(
        &mut self,
        image: &Image,
        dynamic: &DynamicTable,
        strings: &StringTable,
        address: u64,
        count: u64,
    ) -> Result<(), Error> {
        const TABLE: &str = "version definitions (DT_VERDEF)";
        let bytes = read_bounded(image, dynamic, TABLE, address)?;
        let outside = || image.truncated(TABLE);
        let mut at = 0;
        for _ in 0..count.min(MAX_VERSIONS) {
            let flags = u16_at(&bytes, at + 2).ok_or_else(outside)?;
            let index = u16_at(&bytes, at + 4).ok_or_else(outside)?;
            let aux = u32_at(&bytes, at + 12).ok_or_else(outside)?;
            let next = u32_at(&bytes, at + 16).ok_or_else(outside)?;
            let name = u32_at(&bytes, at.saturating_add(aux as usize)).ok_or_else(outside)?;
            if flags & BASE == 0 {
                let name = strings.range(name).ok_or_else(outside)?;
                self.definitions.push(strings.slice(name.clone()).to_owned());
                self.insert(index, Entry { name, file: 0..0 });
            }
            if next == 0 {
                break;
            }
            at = at.saturating_add(next as usize);
        }
        Ok(())
    }

    /// Elfxx_Verneed: vn_version, vn_cnt: u16; vn_file, vn_aux, vn_next: u32. Its Elfxx_Vernaux:
    /// vna_hash: u32; vna_flags, vna_other: u16; vna_name, vna_next: u32.
    fn read_needs(
        &mut self,
        image: &Image,
        dynamic: &DynamicTable,
        strings: &StringTable,
        address: u64,
        count: u64,
    ) -> Result<(), Error> {
        const TABLE: &str = "version needs (DT_VERNEED)";
        let bytes = read_bounded(image, dynamic, TABLE, address)?;
        let outside = || image.truncated(TABLE);
        let (mut at, mut versions) = (0_usize, 0);
        for _ in 0..count.min(MAX_VERSIONS) {
            let aux_count = u16_at(&bytes, at + 2).ok_or_else(outside)?;
            let file = u32_at(&bytes, at + 4).and_then(|file| strings.range(file)).ok_or_else(outside)?;
            let aux = u32_at(&bytes, at + 8).ok_or_else(outside)?;
            let next = u32_at(&bytes, at + 12).ok_or_else(outside)?;
            let mut aux_at = at.saturating_add(aux as usize);
            for _ in 0..aux_count {
                let index = u16_at(&bytes, aux_at.saturating_add(6)).ok_or_else(outside)?;
                let name = u32_at(&bytes, aux_at.saturating_add(8)).ok_or_else(outside)?;
                let aux_next = u32_at(&bytes, aux_at.saturating_add(12)).ok_or_else(outside)?;
                // Entries that overlap each other could otherwise make this quadratic.
                versions += 1;
                if versions > MAX_VERSIONS {
                    return Err(image.malformed(TABLE, "more versions than an index can name"));
                }
                let name = strings.range(name).ok_or_else(outside)?;
                self.needs.push((strings.slice(file.clone()).to_owned(), strings.slice(name.clone()).to_owned()));
                self.insert(index, Entry { name, file: file.clone() });
                if aux_next == 0 {
                    break;
                }
                aux_at = aux_at.saturating_add(aux_next as usize);
            }
            if next == 0 {
                break;
            }
            at = at.saturating_add(next as usize);
        }
        Ok(())
    }

    fn insert(&mut self, index: u16, entry: Entry) {
        let index = usize::from(index & !HIDDEN);
        if index >= self.entries.len() {
            self.entries.resize(index + 1, Entry::default());
        }
        self.entries[index] = entry;
    }

    pub(crate) fn of<'a>(&'a self, symbol: usize, strings: &'a StringTable) -> SymbolVersion<'a> {
        let Some(raw) = u16_at(&self.indexes, symbol.saturating_mul(2)) else {
            return SymbolVersion::Unversioned;
        };
        let index = raw & !HIDDEN;
        if index == 0 {
            return SymbolVersion::Local;
        }
        let Some(entry) = self.entries.get(usize::from(index)).filter(|entry| !entry.name.is_empty()) else {
            return SymbolVersion::Unversioned;
        };
        let name = strings.slice(entry.name.clone());
        let file = Some(strings.slice(entry.file.clone())).filter(|file| !file.is_empty());
        let default = file.is_none() && raw & HIDDEN == 0;
        SymbolVersion::Named(Version { name, default, file })
    }
}

/// The bytes of a table whose size is not recorded: up to the next table or the end of the segment.
fn read_bounded(image: &Image, dynamic: &DynamicTable, table: &'static str, address: u64) -> Result<Vec<u8>, Error> {
    // Twice what the most versions possible take, 20 + 16 bytes each.
    const MOST: u64 = MAX_VERSIONS * 72;
    let (offset, left) = image.locate(table, address)?;
    let room = dynamic.next_table_after(address).map_or(left, |next| left.min(next - address));
    image.read(table, offset, room.min(MOST))
}
