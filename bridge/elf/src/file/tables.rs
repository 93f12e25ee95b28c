//! The tables of a file, read into memory: what [`qmpi_dynamic::Tables`] are made of. Each is read by itself, and nothing else of the file.

use std::hint::black_box;

use goblin::elf::program_header::{PT_DYNAMIC, ProgramHeader};
use qmpi_dynamic::relocation::Relocation;
use qmpi_dynamic::thread_local::StaticRoom;
use qmpi_dynamic::{Bytes, Dynamic, Extent, Table, Tables, entries};

use crate::error::{ElfError, ElfErrorReason};
use crate::file::image::OpenFile;

/// The tables of a file.
#[derive(Debug)]
pub(crate) struct FileTables {
    pub(crate) dynamic: Dynamic,
    section: Vec<u8>,
    /// Bytes that are not UTF-8 are `?`, so that offsets stay what they are; no name that matters here has any.
    strings: String,
    /// The bytes of the other tables, each at the place that it has in [`READ`]; none where the file does not have the table.
    others: [Vec<u8>; READ.len()],
    symbol_count: usize,
}

/// Relocations are not among them: few callers want them ([`relocations`]). In the order of [`Table`].
const READ: [Table; 7] = [
    Table::Strings,
    Table::Symbols,
    Table::GnuHash,
    Table::SysvHash,
    Table::VersionIndexes,
    Table::VersionDefinitions,
    Table::VersionNeeds,
];

const _: () = {
    let mut place = 0;
    while place < READ.len() {
        assert!(READ[place] as usize == place, "a table is found by its number");
        place += 1;
    }
};

/// What is wrong with a file whose names are longer than the file together: each is a part of another.
pub(crate) const OVERLAP: &str = "its names overlap: they are longer than the file";

impl FileTables {
    /// The tables as far as the file says that they reach; where that is contradictory, as far as `ld.so` would read them, which
    /// looks at few of the sizes.
    pub(crate) fn read(image: &OpenFile) -> Result<FileTables, ElfError> {
        let section = dynamic_section(image)?;
        let dynamic = Dynamic::of(Bytes::from(&section[..]), |address| address);
        match FileTables::with_extents(image, section.clone(), dynamic) {
            Ok((tables, false)) => Ok(tables),
            Ok((_, true)) | Err(_) => {
                FileTables::with_extents(image, section, dynamic.without_ends()).map(|(tables, _)| tables)
            }
        }
    }

    /// Also returns whether tables contradict their sizes or each other.
    fn with_extents(image: &OpenFile, section: Vec<u8>, dynamic: Dynamic) -> Result<(FileTables, bool), ElfError> {
        let others = Default::default();
        let mut tables = FileTables { dynamic, section, strings: String::new(), others, symbol_count: 0 };
        for table in READ {
            let Some(extent) = dynamic.extent(table) else { continue };
            match place(image, table, extent) {
                Ok((offset, size)) => tables.others[table as usize] = image.read(table.name(), offset, size)?,
                // ld.so may do without the others.
                Err(error) if matches!(table, Table::Strings | Table::Symbols) => return Err(error),
                Err(_) => {}
            }
        }
        let strings = std::mem::take(&mut tables.others[Table::Strings as usize]);
        tables.strings = String::from_utf8(strings).unwrap_or_else(|error| {
            let ascii = |byte: u8| if byte.is_ascii() { char::from(byte) } else { '?' };
            error.into_bytes().into_iter().map(ascii).collect()
        });
        let view = Tables::of(&dynamic, Bytes::from(&tables.section[..]), |table, _| tables.memory(table));
        let names_end = tables.strings.len();
        // Valgrind reports a comparison of a name that the file has not got, though what comes of it is thrown away: `black_box` keeps it
        // behind the look whether there is one.
        let is_outside = |offset: u64| usize::try_from(black_box(offset)).is_ok_and(|offset| offset >= names_end);
        let has_fault = view.check().is_some()
            || view.symbols().any(|symbol| symbol.name_offset() >= names_end)
            || view.needed_offsets().chain(dynamic.soname).chain(dynamic.rpath).chain(dynamic.runpath).any(is_outside);
        let symbol_count = view.symbol_count();
        Ok((FileTables { symbol_count, ..tables }, has_fault))
    }

    /// The tables, without relocations.
    pub(crate) fn view(&self) -> Tables<'_> {
        let tables = Tables::for_names(&self.dynamic, Bytes::from(&self.section[..]), |table, _| self.memory(table));
        tables.with_symbol_count(self.symbol_count)
    }

    /// The name at an offset of the string table; `None` if it starts or ends outside, or starts inside of a character.
    pub(crate) fn text(&self, offset: u64) -> Option<&str> {
        let start = usize::try_from(offset).ok()?;
        let length = Bytes::from(self.strings.as_bytes()).string(start)?.count_bytes();
        self.strings.get(start..start + length)
    }

    /// Makes sure that the names of all symbols together are not longer than `limit`.
    pub(crate) fn check_names(&self, image: &OpenFile, limit: usize) -> Result<(), ElfError> {
        // Nearly always so: no name is that long.
        if !has_longer_than(self.strings.as_bytes(), limit / self.symbol_count.max(1)) {
            return Ok(());
        }
        let view = self.view();
        let mut lengths = view.symbols().filter_map(|symbol| Some(symbol.name()?.count_bytes()));
        let left = lengths.try_fold(limit, |left, length| left.checked_sub(length));
        left.map(|_| ()).ok_or_else(|| image.malformed(Table::Symbols.name(), OVERLAP))
    }

    fn memory(&self, table: Table) -> Option<Bytes<'_>> {
        if table == Table::Strings {
            return Some(Bytes::from(self.strings.as_bytes()));
        }
        self.others.get(table as usize).filter(|bytes| !bytes.is_empty()).map(|bytes| Bytes::from(&bytes[..]))
    }
}

/// The dynamic section: where PT_DYNAMIC says that it is loaded, and up to DT_NULL. `ld.so` does not look at the offset in the file,
/// and hardly at the size; of several segments the last one counts (`elf/dl-load.c`, `elf/get-dynamic-info.h`).
pub(crate) fn dynamic_section(image: &OpenFile) -> Result<Vec<u8>, ElfError> {
    const SECTION: &str = "dynamic section";
    let is_dynamic = |segment: &&ProgramHeader| segment.p_type == PT_DYNAMIC && segment.p_filesz > 0;
    let Some(segment) = image.segments.iter().rev().find(is_dynamic) else {
        return Err(image.failed(ElfErrorReason::Static));
    };
    let (offset, left) = image.locate(SECTION, segment.p_vaddr)?;
    let section = image.read(SECTION, offset, segment.p_filesz.min(left))?;
    let room = section.len() / size_of::<[u64; 2]>();
    let has_end = entries(Bytes::from(&section[..])).count() < room;
    if has_end { Ok(section) } else { image.read(SECTION, offset, left) }
}

/// Where a table is in the file, and its size; one that does not say its size is read up to the next one.
fn place(image: &OpenFile, table: Table, extent: Extent) -> Result<(u64, u64), ElfError> {
    let (offset, left) = image.locate(table.name(), extent.address)?;
    let size = extent.size_within(left).ok_or_else(|| image.truncated(table.name()))?;
    Ok((offset, size))
}

/// The relocations of a table.
pub(super) fn relocations(image: &OpenFile, dynamic: &Dynamic, table: Table) -> Result<Vec<Relocation>, ElfError> {
    let Some(extent) = dynamic.extent(table) else { return Ok(Vec::new()) };
    let (offset, size) = place(image, table, extent)?;
    let bytes = image.read(table.name(), offset, size)?;
    Ok(Relocation::all(Bytes::from(&bytes[..]), image.machine).collect())
}

/// What the thread-local variables of a file ask for in the static block of each thread. DF_STATIC_TLS says that it needs room there;
/// linkers for AArch64 do not set it.
pub(super) fn static_room(image: &OpenFile, dynamic: &Dynamic) -> Option<StaticRoom> {
    if dynamic.static_tls() {
        return Some(StaticRoom::Needed);
    }
    // A file whose relocations cannot be read is not loaded either.
    let of = |table| relocations(image, dynamic, table).unwrap_or_default();
    [Table::Relocations, Table::PltRelocations].into_iter().flat_map(of).filter_map(|one| StaticRoom::of(&one)).min()
}

/// DT_NEEDED alone, for whoever asks it of each library that a program opens: a few reads, and none of the symbols.
pub(crate) fn needed(image: &OpenFile) -> Result<Vec<Vec<u8>>, ElfError> {
    /// Longer names are left out: no SONAME that a linker has been given is so long.
    const LONGEST: u64 = 256;
    let section = dynamic_section(image)?;
    let section = Bytes::from(&section[..]);
    let dynamic = Dynamic::of(section, |address| address);
    let Some(strings) = dynamic.extent(Table::Strings) else { return Ok(Vec::new()) };
    let mut names = Vec::new();
    for name in Tables::for_names(&dynamic, section, |_, _| None).needed_offsets() {
        let (offset, left) = image.locate(Table::Strings.name(), strings.address.saturating_add(name))?;
        let mut text = image.read_up_to(offset, left.min(LONGEST))?;
        let Some(end) = text.iter().position(|byte| *byte == 0) else { continue };
        text.truncate(end);
        names.push(text);
    }
    Ok(names)
}

/// Is any string longer than `limit`? Looks at one byte in `limit`, and at what is before the end of a string.
fn has_longer_than(strings: &[u8], limit: usize) -> bool {
    let mut rest = strings;
    while let Some(start) = rest.get(..=limit) {
        match start.iter().rposition(|byte| *byte == 0) {
            Some(end) => rest = &rest[end + 1..],
            None => return true,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_strings_are_found_wherever_they_are() {
        for text in ["\0ab\0abcde\0a\0", "\0abcde\0", "abcde\0ab\0", "\0a\0b\0abcde"] {
            assert!(has_longer_than(text.as_bytes(), 4) && !has_longer_than(text.as_bytes(), 5), "{text:?}");
        }
    }
}
