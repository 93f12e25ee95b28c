//! The tables of a file, read into memory: what [`qmpi_dynamic::Tables`] are made of.
//!
//! Only the tables are read, nearly always by one read, because linkers put them side by side.

use std::hint::black_box;

use goblin::elf::program_header::{PT_DYNAMIC, ProgramHeader};
use qmpi_dynamic::{Bytes, Dynamic, Extent, Table, Tables, entries};

use crate::error::Error;
use crate::file::image::OpenFile;
use crate::file::string_table::StringTable;

/// The tables of a file.
#[derive(Debug)]
pub(crate) struct FileTables {
    pub(crate) dynamic: Dynamic,
    pub(crate) strings: StringTable,
    parts: Vec<FilePart>,
    symbol_count: usize,
    /// Offsets in the string table.
    pub(crate) needed: Vec<u64>,
}

/// A part of the file that holds tables.
#[derive(Debug)]
struct FilePart {
    address: u64,
    bytes: Vec<u8>,
}

/// Where a table is in the file.
#[derive(Debug, Clone, Copy)]
struct TablePlace {
    address: u64,
    offset: u64,
    size: u64,
}

/// Relocations are not among them: a few callers want those of the PLT, and read them themselves.
const READ: [Table; 7] = [
    Table::Strings,
    Table::Symbols,
    Table::GnuHash,
    Table::SysvHash,
    Table::VersionIndexes,
    Table::VersionDefinitions,
    Table::VersionNeeds,
];

/// Tables that are not further apart are read together.
const GAP: u64 = 0x1000;

impl FileTables {
    /// The tables as far as the file says that they reach; where that is contradictory, as far as `ld.so` would read them, which
    /// looks at few of the sizes.
    pub(crate) fn read(image: &OpenFile) -> Result<FileTables, Error> {
        let section = dynamic_section(image)?;
        let section = Bytes::from(&section[..]);
        let dynamic = Dynamic::of(section, |address| address);
        match FileTables::with_extents(image, section, dynamic) {
            Ok((tables, false)) => Ok(tables),
            Ok((_, true)) | Err(_) => {
                FileTables::with_extents(image, section, dynamic.without_ends()).map(|(tables, _)| tables)
            }
        }
    }

    /// Also returns whether tables contradict their sizes or each other.
    fn with_extents(image: &OpenFile, section: Bytes<'_>, dynamic: Dynamic) -> Result<(FileTables, bool), Error> {
        let mut places = Vec::with_capacity(READ.len());
        for table in READ {
            let Some(extent) = dynamic.extent(table) else { continue };
            match place(image, table, extent) {
                Ok(place) => places.push(place),
                // ld.so may do without the others.
                Err(error) if matches!(table, Table::Strings | Table::Symbols) => return Err(error),
                Err(_) => {}
            }
        }
        let parts = read_parts(image, places)?;
        let mut tables =
            FileTables { strings: StringTable::default(), dynamic, parts, symbol_count: 0, needed: Vec::new() };
        if let Some(extent) = dynamic.extent(Table::Strings) {
            let bytes = tables.part(extent.address).and_then(|bytes| Some(extent.of(Bytes::from(bytes))?.len()));
            let bytes = tables.part(extent.address).zip(bytes).and_then(|(part, len)| part.get(..len));
            let bytes = bytes.ok_or_else(|| image.truncated(Table::Strings.name()))?;
            tables.strings = StringTable::new(bytes.to_vec());
        }
        let view = Tables::of(&dynamic, section, |table, address| tables.memory(table, address));
        let names_end = tables.strings.bytes().len();
        // Valgrind reports a comparison of a name that the file has not got, though what comes of it is thrown away: `black_box` keeps it
        // behind the look whether there is one.
        let is_outside = |offset: u64| usize::try_from(black_box(offset)).is_ok_and(|offset| offset >= names_end);
        let has_fault = view.check().is_some()
            || view.symbols().any(|symbol| symbol.name_offset() >= names_end)
            || view.needed_offsets().chain(dynamic.soname).chain(dynamic.rpath).chain(dynamic.runpath).any(is_outside);
        let (symbol_count, needed) = (view.symbol_count(), view.needed_offsets().collect());
        Ok((FileTables { symbol_count, needed, ..tables }, has_fault))
    }

    /// The tables, without relocations and without DT_NEEDED.
    pub(crate) fn view(&self) -> Tables<'_> {
        let memory = |table, address| self.memory(table, address);
        Tables::with_symbol_count(&self.dynamic, Bytes::EMPTY, memory, Some(self.symbol_count))
    }

    pub(crate) fn symbol_count(&self) -> usize {
        self.symbol_count
    }

    fn memory(&self, table: Table, address: u64) -> Option<Bytes<'_>> {
        match table {
            Table::Strings => Some(Bytes::from(self.strings.bytes())),
            // Up to the next table, whatever else was read with it: the same file gives the same answer wherever its tables are.
            Table::Symbols => self.dynamic.extent(table)?.of(self.part(address).map(Bytes::from)?),
            Table::Relocations | Table::PltRelocations | Table::RelativeRelocations => None,
            _ => self.part(address).map(Bytes::from),
        }
    }

    /// What was read from an address on.
    fn part(&self, address: u64) -> Option<&[u8]> {
        self.parts.iter().find_map(|part| {
            let from = usize::try_from(address.checked_sub(part.address)?).ok()?;
            part.bytes.get(from..).filter(|bytes| !bytes.is_empty())
        })
    }
}

/// The dynamic section: where PT_DYNAMIC says that it is loaded, and up to DT_NULL. `ld.so` does not look at the offset in the file,
/// and hardly at the size; of several segments the last one counts (`elf/dl-load.c`, `elf/get-dynamic-info.h`).
pub(crate) fn dynamic_section(image: &OpenFile) -> Result<Vec<u8>, Error> {
    const SECTION: &str = "dynamic section";
    let is_dynamic = |segment: &&ProgramHeader| segment.p_type == PT_DYNAMIC && segment.p_filesz > 0;
    let Some(segment) = image.segments.iter().rev().find(is_dynamic) else {
        return Err(Error::Static { path: image.path().to_owned() });
    };
    let (offset, left) = image.locate(SECTION, segment.p_vaddr)?;
    let section = image.read(SECTION, offset, segment.p_filesz.min(left))?;
    let room = section.len() / size_of::<[u64; 2]>();
    let has_end = entries(Bytes::from(&section[..])).count() < room;
    if has_end { Ok(section) } else { image.read(SECTION, offset, left) }
}

/// Where a table is; one that does not say its size is read up to the next one.
fn place(image: &OpenFile, table: Table, extent: Extent) -> Result<TablePlace, Error> {
    let (offset, left) = image.locate(table.name(), extent.address)?;
    let size = match (extent.size, extent.next) {
        (Some(size), _) if size > left => return Err(image.truncated(table.name())),
        (Some(size), _) => size,
        (None, Some(next)) => left.min(next.saturating_sub(extent.address)),
        (None, None) => left,
    };
    Ok(TablePlace { address: extent.address, offset, size })
}

/// Reads these tables, those that lie together in one go.
fn read_parts(image: &OpenFile, mut places: Vec<TablePlace>) -> Result<Vec<FilePart>, Error> {
    places.sort_unstable_by_key(|place| place.address);
    let mut merged: Vec<TablePlace> = Vec::with_capacity(places.len());
    for place in places {
        // The same segment: addresses are as far apart as offsets.
        let joins = |last: &&mut TablePlace| {
            let end = last.address.saturating_add(last.size);
            place.address <= end.saturating_add(GAP)
                && place.address.wrapping_sub(last.address) == place.offset.wrapping_sub(last.offset)
        };
        match merged.last_mut().filter(joins) {
            Some(last) => last.size = last.size.max((place.address - last.address).saturating_add(place.size)),
            None => merged.push(place),
        }
    }
    let read = |place: TablePlace| {
        let bytes = image.read("dynamic tables", place.offset, place.size)?;
        Ok(FilePart { address: place.address, bytes })
    };
    merged.into_iter().map(read).collect()
}
