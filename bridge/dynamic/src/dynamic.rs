//! The dynamic section: where the tables are, how long they say they are, and flags.
//!
//! Plain numbers; what they point to is read by [`Tables`](crate::Tables).

use crate::bytes::Bytes;
use crate::tags::*;

/// A table that the dynamic section points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// DT_STRTAB.
    Strings,
    /// DT_SYMTAB.
    Symbols,
    /// DT_GNU_HASH.
    GnuHash,
    /// DT_HASH.
    SysvHash,
    /// DT_VERSYM.
    VersionIndexes,
    /// DT_VERDEF.
    VersionDefinitions,
    /// DT_VERNEED.
    VersionNeeds,
    /// DT_RELA.
    Relocations,
    /// DT_JMPREL.
    PltRelocations,
}

/// Each table: the tag of its address, and that of its size where the dynamic section has to say one.
const TABLES: [(Table, u64, Option<u64>); 9] = [
    (Table::Strings, DT_STRTAB, Some(DT_STRSZ)),
    (Table::Symbols, DT_SYMTAB, None),
    (Table::GnuHash, DT_GNU_HASH, None),
    (Table::SysvHash, DT_HASH, None),
    (Table::VersionIndexes, DT_VERSYM, None),
    (Table::VersionDefinitions, DT_VERDEF, None),
    (Table::VersionNeeds, DT_VERNEED, None),
    (Table::Relocations, DT_RELA, Some(DT_RELASZ)),
    (Table::PltRelocations, DT_JMPREL, Some(DT_PLTRELSZ)),
];

impl Table {
    /// What it is called in messages.
    pub fn name(self) -> &'static str {
        match self {
            Table::Strings => "dynamic string table",
            Table::Symbols => "dynamic symbol table",
            Table::GnuHash => "hash table (DT_GNU_HASH)",
            Table::SysvHash => "hash table (DT_HASH)",
            Table::VersionIndexes => "symbol version table (DT_VERSYM)",
            Table::VersionDefinitions => "version definitions (DT_VERDEF)",
            Table::VersionNeeds => "version needs (DT_VERNEED)",
            Table::Relocations => "relocations (DT_RELA)",
            Table::PltRelocations => "PLT relocations (DT_JMPREL)",
        }
    }
}

/// Where a table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Its address, as the object was linked or as it is mapped.
    pub address: u64,
    /// Its size in bytes, where the dynamic section says one.
    pub size: Option<u64>,
    /// Where the dynamic section says no size: the address of the next table, where this one ends at the latest.
    pub next: Option<u64>,
}

impl Extent {
    /// How many bytes the table has, of so many that are there from its address on. `None`: its size reaches beyond them.
    pub fn size_within(self, there: u64) -> Option<u64> {
        match (self.size, self.next) {
            (Some(size), _) => (size <= there).then_some(size),
            (None, Some(next)) => Some(there.min(next.saturating_sub(self.address))),
            (None, None) => Some(there),
        }
    }

    /// The bytes of the table, of those that start at its address. `None`: its size reaches beyond them.
    pub fn of(self, bytes: Bytes<'_>) -> Option<Bytes<'_>> {
        bytes.first(usize::try_from(self.size_within(bytes.len() as u64)?).ok()?)
    }
}

/// What a dynamic section says.
#[derive(Debug, Clone, Copy, Default)]
pub struct Dynamic {
    extents: [Option<Extent>; TABLES.len()],
    /// DT_SONAME, as the other three names an offset in the string table.
    pub soname: Option<u64>,
    /// DT_RPATH.
    pub rpath: Option<u64>,
    /// DT_RUNPATH.
    pub runpath: Option<u64>,
    /// DT_FLAGS.
    pub flags: u64,
    /// DT_FLAGS_1.
    pub flags_1: u64,
    /// DT_RELACOUNT: so many relocations of DT_RELA, the first, are relative.
    pub relative_count: u64,
}

/// A bit of [`Dynamic::flags`].
const DF_STATIC_TLS: u64 = 0x10;
/// A bit of [`Dynamic::flags_1`].
const DF_1_NODEFLIB: u64 = 0x800;
/// A bit of [`Dynamic::flags_1`].
const DF_1_PIE: u64 = 0x0800_0000;

impl Dynamic {
    /// Reads a section. `resolve` makes of an address in it one that counts.
    ///
    /// Of entries that stand there twice the last one counts, as for ld.so (`elf/get-dynamic-info.h`).
    pub fn of(section: Bytes<'_>, resolve: impl Fn(u64) -> u64) -> Dynamic {
        let mut dynamic = Dynamic::default();
        // Of tables whose size the section has to say, it is 0 before it does.
        let mut addresses = [None; TABLES.len()];
        let mut sizes = TABLES.map(|(.., size)| size.map(|_| 0));
        for (tag, value) in entries(section) {
            match tag {
                DT_SONAME => dynamic.soname = Some(value),
                DT_RPATH => dynamic.rpath = Some(value),
                DT_RUNPATH => dynamic.runpath = Some(value),
                DT_RELACOUNT => dynamic.relative_count = value,
                DT_FLAGS => dynamic.flags |= value,
                DT_FLAGS_1 => dynamic.flags_1 |= value,
                _ => {
                    for ((.., of_address, of_size), place) in TABLES.iter().zip(addresses.iter_mut().zip(&mut sizes)) {
                        if tag == *of_address {
                            *place.0 = Some(resolve(value));
                        } else if Some(tag) == *of_size {
                            *place.1 = Some(value);
                        }
                    }
                }
            }
        }
        // What says how long it is does not end at the next table.
        for ((extent, address), size) in dynamic.extents.iter_mut().zip(addresses).zip(sizes) {
            let Some(address) = address else { continue };
            let behind = addresses.iter().flatten().filter(|other| size.is_none() && **other > address);
            *extent = Some(Extent { address, size, next: behind.min().copied() });
        }
        dynamic
    }

    /// Where a table is, if the object has it.
    pub fn extent(&self, table: Table) -> Option<Extent> {
        let extent = self.extents.get(table as usize).copied().flatten()?;
        // A table of no bytes may have any address; but ld.so does not look at DT_STRSZ.
        (extent.size != Some(0) || table == Table::Strings).then_some(extent)
    }

    /// The same with tables that reach as far as what is there, as those of ld.so do: for a file whose tables contradict the sizes
    /// that it says. The symbols still end where the next table begins: ld.so does not count them. The sizes of relocations it uses.
    pub fn without_ends(mut self) -> Dynamic {
        for (index, extent) in self.extents.iter_mut().enumerate() {
            if let Some(extent) = extent
                && index != Table::Symbols as usize
                && index < Table::Relocations as usize
            {
                *extent = Extent { size: None, next: None, ..*extent };
            }
        }
        self
    }

    /// Its thread-local variables are of the initial-exec model.
    pub const fn static_tls(&self) -> bool {
        self.flags & DF_STATIC_TLS != 0
    }

    /// ld.so must not look for its libraries in the cache and the default directories.
    pub const fn no_default_lib(&self) -> bool {
        self.flags_1 & DF_1_NODEFLIB != 0
    }

    /// A position-independent executable.
    pub const fn pie(&self) -> bool {
        self.flags_1 & DF_1_PIE != 0
    }
}

/// The tags and values of a dynamic section, up to DT_NULL or the end.
pub fn entries(section: Bytes<'_>) -> impl Iterator<Item = (u64, u64)> {
    let pair = move |index| section.entry::<[u64; 2]>(index).map(|[tag, value]| (tag, value));
    (0..).map_while(pair).take_while(|(tag, _)| *tag != DT_NULL)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(entries: &[(u64, u64)]) -> Vec<u8> {
        entries.iter().flat_map(|(tag, value)| [tag.to_ne_bytes(), value.to_ne_bytes()]).flatten().collect()
    }

    #[test]
    fn a_table_ends_at_the_next_one() {
        let bytes = section(&[
            (DT_SYMTAB, 0x400),
            (DT_STRTAB, 0x800),
            (DT_STRSZ, 0x20),
            (DT_VERSYM, 0x820),
            (DT_RELA, 0),
            (DT_NULL, 0),
            (DT_SONAME, 9),
        ]);
        let dynamic = Dynamic::of(Bytes::from(&bytes[..]), |address| address + 0x1000);
        let extent = |table| dynamic.extent(table).map(|extent| (extent.address, extent.size, extent.next));
        assert_eq!(extent(Table::Symbols), Some((0x1400, None, Some(0x1800))));
        assert_eq!(extent(Table::Strings), Some((0x1800, Some(0x20), None)));
        assert_eq!(extent(Table::VersionIndexes), Some((0x1820, None, None)));
        assert_eq!(extent(Table::Relocations), None, "no bytes");
        assert_eq!(dynamic.soname, None, "behind the end");
    }

    #[test]
    fn the_last_of_two_counts_and_a_section_may_end_without_null() {
        let bytes = section(&[(DT_SONAME, 1), (DT_SONAME, 2), (DT_FLAGS, DF_STATIC_TLS), (DT_FLAGS_1, DF_1_PIE)]);
        let dynamic = Dynamic::of(Bytes::from(&bytes[..bytes.len() - 1]), |address| address);
        assert_eq!(dynamic.soname, Some(2));
        assert!(dynamic.static_tls() && !dynamic.pie(), "the last entry is cut off");
    }
}
