//! A copy of a library that needs other libraries than the original: for more instances than there are namespaces.
//!
//! The user's file is never touched; the copy lives in memory. What it needs is a list of strings, so the copy gets a new
//! string table and a new dynamic section, in a segment of their own at the end. The program header for it is that of the
//! notes (`PT_NOTE`), which is not used in a loaded library:
//!
//! ```text
//! before                                   after
//! PT_LOAD ...                              PT_LOAD ...
//! PT_DYNAMIC → .dynamic                    PT_DYNAMIC → in the new segment
//! PT_NOTE    → build id                    PT_LOAD RW → file end, page aligned: .dynstr + new names, .dynamic
//! ```

use goblin::elf::dynamic::{
    DT_FINI, DT_FINI_ARRAY, DT_FINI_ARRAYSZ, DT_NEEDED, DT_NULL, DT_RPATH, DT_RUNPATH, DT_SONAME, DT_STRSZ, DT_STRTAB,
    DT_SYMBOLIC,
};
use goblin::elf::header::header64::{self, Header};
use goblin::elf::program_header::{PF_R, PF_W, PT_DYNAMIC, PT_LOAD, PT_NOTE, ProgramHeader};
use object::pod::bytes_of;
use qmpi_dynamic::{Bytes, Dynamic, Table, entries};
use thiserror::Error;

use crate::file::image::{CTX, PHDR_SIZE, locate};
use crate::machine::LARGEST_PAGE;
use crate::write::segment;

const PAGE: u64 = LARGEST_PAGE as u64;
/// Size of an entry of a dynamic section (System V gABI chapter 5).
const DYN: usize = 16;
/// An address space has 47 bits on x86-64 and 48 on AArch64: what lies further up cannot be loaded.
const HIGHEST: u64 = 1 << 48;

/// Why a library cannot be copied.
#[derive(Debug, Error)]
#[error("it cannot be copied: {0}")]
pub struct DuplicateError(&'static str);

const CHANGED: DuplicateError = DuplicateError("its tables are not where they should be");

/// What `ld.so` is not to call in a copy has its tag in the dynamic section with these bits, by which `ld.so` does not know it: destructors,
/// as copies share a namespace, and end in the order of their layers, not in that of `ld.so`. In the range of the operating system's
/// own tags.
pub const KEPT_FROM_LINKER: u64 = 0x6001_0000;

/// What is another in a copy.
#[derive(Debug, Clone, Copy)]
pub struct Changes<'a> {
    /// The libraries that it needs.
    pub needed: &'a [&'a str],
    /// Where it looks for libraries that it opens later.
    pub runpath: Option<&'a str>,
}

/// Copies the library in `bytes`, a sound one (see [`crate::ElfFile`]), with these changes.
///
/// The SONAME is left out: one must not stand for all copies.
/// Its destructors are left to whoever loads it ([`KEPT_FROM_LINKER`]).
/// DT_SYMBOLIC lets the copy find what it defines itself before the first objects of its namespace, as it finds it before its head.
///
/// # Errors
/// When the file has no notes whose program header could be used, or is not what it was when it was checked.
pub fn duplicate(bytes: &[u8], changes: &Changes<'_>) -> Result<Vec<u8>, DuplicateError> {
    let headers = Headers::of(bytes).ok_or(CHANGED)?;
    let is_dynamic = |header: &ProgramHeader| header.p_type == PT_DYNAMIC && header.p_filesz > 0;
    // Of several the last one counts (`elf/dl-load.c`).
    let section_header = headers.list.iter().rposition(is_dynamic).ok_or(CHANGED)?;
    let spare =
        headers.spare().ok_or(DuplicateError("it has no notes (PT_NOTE) whose place a new segment could take"))?;
    let section = headers.section(bytes, section_header).ok_or(CHANGED)?;
    let mut strings = headers.strings(bytes, section).ok_or(CHANGED)?.to_vec();

    let mut new = Vec::new();
    let names = changes.needed.iter().map(|name| (DT_NEEDED, *name));
    for (tag, text) in names.chain(changes.runpath.map(|path| (DT_RUNPATH, path))) {
        new.push((tag, strings.len() as u64));
        strings.extend_from_slice(text.as_bytes());
        strings.push(0);
    }
    strings.resize(strings.len().next_multiple_of(DYN), 0);
    let address = headers.end().and_then(|end| end.checked_next_multiple_of(PAGE)).ok_or(CHANGED)?;
    let offset = (bytes.len() as u64).checked_next_multiple_of(PAGE).ok_or(CHANGED)?;
    let dropped = [DT_NEEDED, DT_SONAME, DT_RPATH, DT_RUNPATH];
    new.extend(entries(section).filter(|(tag, _)| !dropped.contains(tag)).map(|(tag, value)| match tag {
        DT_STRTAB => (tag, address),
        DT_STRSZ => (tag, strings.len() as u64),
        DT_FINI | DT_FINI_ARRAY | DT_FINI_ARRAYSZ => (tag | KEPT_FROM_LINKER, value),
        _ => (tag, value),
    }));
    new.extend([(DT_SYMBOLIC, 0), (DT_NULL, 0)]);

    let mut copy = bytes.to_vec();
    copy.resize(usize::try_from(offset).map_err(|_| CHANGED)?, 0);
    copy.extend_from_slice(&strings);
    for (tag, value) in new {
        copy.extend_from_slice(&tag.to_le_bytes());
        copy.extend_from_slice(&value.to_le_bytes());
    }
    let (start, place) =
        (usize::try_from(offset).map_err(|_| CHANGED)?, usize::try_from(address).map_err(|_| CHANGED)?);
    let load = segment(PT_LOAD, PF_R | PF_W, start..copy.len(), place, LARGEST_PAGE);
    let section = start + strings.len()..copy.len();
    let dynamic = segment(PT_DYNAMIC, PF_R | PF_W, section, place + strings.len(), 8);
    for (index, header) in [(spare, load), (section_header, dynamic)] {
        let header = bytes_of(&header);
        copy[headers.start + index * header.len()..][..header.len()].copy_from_slice(header);
    }
    Ok(copy)
}

/// Where the program headers of the file in `bytes` end.
pub fn end_of_headers(bytes: &[u8]) -> Option<usize> {
    let headers = Headers::of(bytes)?;
    Some(headers.start + headers.list.len() * usize::from(PHDR_SIZE))
}

/// The program headers, and where they are.
struct Headers {
    start: usize,
    list: Vec<ProgramHeader>,
}

impl Headers {
    fn of(bytes: &[u8]) -> Option<Headers> {
        let header = Header::parse(bytes.get(..header64::SIZEOF_EHDR)?).ok()?;
        let (start, count) = (usize::try_from(header.e_phoff).ok()?, usize::from(header.e_phnum));
        Some(Headers { start, list: ProgramHeader::parse(bytes, start, count, CTX).ok()? })
    }

    /// The number of a header that a new segment may have: ld.so wants loaded segments in the order of their addresses, and the
    /// new one is the last.
    fn spare(&self) -> Option<usize> {
        let last_load = self.list.iter().rposition(|header| header.p_type == PT_LOAD)?;
        (last_load..self.list.len()).find(|index| self.list[*index].p_type == PT_NOTE)
    }

    /// Where the last segment ends in memory.
    fn end(&self) -> Option<u64> {
        let loads = self.list.iter().filter(|header| header.p_type == PT_LOAD);
        let end = |load: &ProgramHeader| load.p_vaddr.checked_add(load.p_memsz.max(load.p_filesz));
        let ends = loads.map(|load| end(load).filter(|end| *end < HIGHEST));
        ends.collect::<Option<Vec<u64>>>()?.into_iter().max()
    }

    /// The dynamic section: where its header says that it is loaded, and up to DT_NULL, which may be behind its size in the file.
    fn section<'a>(&self, bytes: &'a [u8], header: usize) -> Option<Bytes<'a>> {
        let header = self.list.get(header)?;
        let (offset, left) = locate(&self.list, bytes.len() as u64, header.p_vaddr)?;
        // Behind the end of the file all is zero, as DT_NULL is.
        let left = left.min((bytes.len() as u64).checked_sub(offset)?);
        let section = slice(bytes, offset, header.p_filesz.min(left)).map(Bytes::from)?;
        let has_end = entries(section).count() < section.len() / DYN;
        if has_end { Some(section) } else { slice(bytes, offset, left).map(Bytes::from) }
    }

    fn strings<'a>(&self, bytes: &'a [u8], section: Bytes<'_>) -> Option<&'a [u8]> {
        let extent = Dynamic::of(section, |address| address).extent(Table::Strings)?;
        let (offset, _) = locate(&self.list, bytes.len() as u64, extent.address)?;
        slice(bytes, offset, extent.size?)
    }
}

fn slice(bytes: &[u8], from: u64, len: u64) -> Option<&[u8]> {
    let from = usize::try_from(from).ok()?;
    bytes.get(from..from.checked_add(usize::try_from(len).ok()?)?)
}
