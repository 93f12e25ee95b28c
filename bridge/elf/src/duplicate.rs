//! A copy of a library that needs other libraries than the original: for more instances than there are namespaces.
//!
//! The user's file is never touched; the copy lives in memory. What it needs is a list of strings, so the copy gets a new
//! string table and a new dynamic section, in a segment of their own at the end. The program header for it is that of the
//! notes (`PT_NOTE`), which nobody reads in a loaded library:
//!
//! ```text
//! before                                   after
//! PT_LOAD ...                              PT_LOAD ...
//! PT_DYNAMIC → .dynamic                    PT_DYNAMIC → in the new segment
//! PT_NOTE    → build id                    PT_LOAD RW → file end, page aligned: .dynstr + new names, .dynamic
//! ```

use goblin::elf::dynamic::{DT_NEEDED, DT_NULL, DT_RPATH, DT_RUNPATH, DT_SONAME, DT_STRSZ, DT_STRTAB};
use goblin::elf::program_header::{PF_R, PF_W, PT_DYNAMIC, PT_LOAD, PT_NOTE};
use thiserror::Error;

const PAGE: u64 = 0x1000;
/// Sizes in a 64-bit file (System V gABI chapters 4 and 5).
const PHDR: usize = 56;
const DYN: usize = 16;

/// Why a library cannot be copied.
#[derive(Debug, Error)]
#[error("it cannot be copied: {0}")]
pub struct DuplicateError(&'static str);

/// A program header, as far as it matters here.
#[derive(Debug, Clone, Copy)]
struct Segment {
    kind: u32,
    /// Where in the file the header itself is.
    at: usize,
    offset: u64,
    address: u64,
    file_size: u64,
    memory_size: u64,
}

/// Copies the library in `bytes`, a sound one (see [`crate::ElfFile`]), with `needed` instead of what it needs.
///
/// `runpath` is where it looks for libraries that it opens later. The SONAME is left out: one must not stand for all copies.
///
/// # Errors
/// When the file has no notes whose program header could be used, or is not what it was when it was checked.
pub fn duplicate(bytes: &[u8], needed: &[&str], runpath: Option<&str>) -> Result<Vec<u8>, DuplicateError> {
    const CHANGED: DuplicateError = DuplicateError("its tables are not where they should be");
    let segments = segments(bytes).ok_or(CHANGED)?;
    let find = |kind| segments.iter().find(|segment| segment.kind == kind).copied();
    let dynamic = find(PT_DYNAMIC).ok_or(CHANGED)?;
    let last_load = segments.iter().rposition(|segment| segment.kind == PT_LOAD).ok_or(CHANGED)?;
    // ld.so wants loaded segments in the order of their addresses, and the new one is the last.
    let spare = segments.iter().skip(last_load).find(|segment| segment.kind == PT_NOTE);
    let spare = spare.ok_or(DuplicateError("it has no notes (PT_NOTE) whose place a new segment could take"))?;

    let entries = entries(bytes, &dynamic).ok_or(CHANGED)?;
    let value = |tag| entries.iter().find(|(known, _)| *known == tag).map(|(_, value)| *value);
    let strings_at = offset_of(&segments, value(DT_STRTAB).ok_or(CHANGED)?).ok_or(CHANGED)?;
    let strings_len = value(DT_STRSZ).ok_or(CHANGED)?;
    let mut strings = slice(bytes, strings_at, strings_len).ok_or(CHANGED)?.to_vec();

    let mut new = Vec::new();
    let names = needed.iter().map(|name| (DT_NEEDED, *name));
    for (tag, text) in names.chain(runpath.map(|path| (DT_RUNPATH, path))) {
        new.push((tag, strings.len() as u64));
        strings.extend_from_slice(text.as_bytes());
        strings.push(0);
    }
    let dropped = [DT_NEEDED, DT_SONAME, DT_RPATH, DT_RUNPATH, DT_NULL];
    new.extend(entries.iter().filter(|(tag, _)| !dropped.contains(tag)));
    strings.resize(strings.len().next_multiple_of(DYN), 0);

    let end =
        segments.iter().filter(|segment| segment.kind == PT_LOAD).map(|load| load.address + load.memory_size).max();
    let address = end.ok_or(CHANGED)?.next_multiple_of(PAGE);
    let offset = (bytes.len() as u64).next_multiple_of(PAGE);
    for (tag, value) in &mut new {
        match *tag {
            DT_STRTAB => *value = address,
            DT_STRSZ => *value = strings.len() as u64,
            _ => {}
        }
    }
    new.push((DT_NULL, 0));

    let mut copy = bytes.to_vec();
    copy.resize(usize::try_from(offset).map_err(|_| CHANGED)?, 0);
    copy.extend_from_slice(&strings);
    let dynamic_len = (new.len() * DYN) as u64;
    for (tag, value) in new {
        copy.extend_from_slice(&tag.to_le_bytes());
        copy.extend_from_slice(&value.to_le_bytes());
    }
    let strings_len = strings.len() as u64;
    let load =
        Segment { kind: PT_LOAD, at: spare.at, offset, address, file_size: strings_len + dynamic_len, memory_size: 0 };
    let (offset, address) = (offset + strings_len, address + strings_len);
    let dynamic = Segment { kind: PT_DYNAMIC, at: dynamic.at, offset, address, file_size: dynamic_len, memory_size: 0 };
    load.write(&mut copy, PAGE);
    dynamic.write(&mut copy, 8);
    Ok(copy)
}

impl Segment {
    fn read(bytes: &[u8], at: usize) -> Option<Segment> {
        let header = bytes.get(at..at + PHDR)?;
        let kind = u32::from_le_bytes(header.get(..4)?.try_into().ok()?);
        let word = |index: usize| word(header, index);
        Some(Segment { kind, at, offset: word(8)?, address: word(16)?, file_size: word(32)?, memory_size: word(40)? })
    }

    /// Writes the header of a readable and writable segment that is as large in memory as in the file.
    fn write(&self, bytes: &mut [u8], align: u64) {
        let mut header = Vec::with_capacity(PHDR);
        header.extend(self.kind.to_le_bytes());
        header.extend((PF_R | PF_W).to_le_bytes());
        for word in [self.offset, self.address, self.address, self.file_size, self.file_size, align] {
            header.extend(word.to_le_bytes());
        }
        // It was read from there.
        bytes[self.at..self.at + PHDR].copy_from_slice(&header);
    }
}

fn segments(bytes: &[u8]) -> Option<Vec<Segment>> {
    let start = usize::try_from(word(bytes, 32)?).ok()?; // e_phoff
    let count = u16::from_le_bytes(bytes.get(56..58)?.try_into().ok()?); // e_phnum
    (0..usize::from(count)).map(|index| Segment::read(bytes, start.checked_add(index * PHDR)?)).collect()
}

fn entries(bytes: &[u8], dynamic: &Segment) -> Option<Vec<(u64, u64)>> {
    let table = slice(bytes, dynamic.offset, dynamic.file_size)?;
    let pairs = table.chunks_exact(DYN).map(|entry| Some((word(entry, 0)?, word(entry, 8)?)));
    pairs.take_while(|pair| pair.is_none_or(|(tag, _)| tag != DT_NULL)).collect()
}

fn offset_of(segments: &[Segment], address: u64) -> Option<u64> {
    let holds = |segment: &&Segment| {
        segment.kind == PT_LOAD && address >= segment.address && address - segment.address < segment.file_size
    };
    segments.iter().find(holds).map(|segment| segment.offset + (address - segment.address))
}

fn slice(bytes: &[u8], from: u64, len: u64) -> Option<&[u8]> {
    let from = usize::try_from(from).ok()?;
    bytes.get(from..from.checked_add(usize::try_from(len).ok()?)?)
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}
