//! ELF files that are written: providers, and copies of tools.

pub mod duplicate;
pub mod provider;

use std::ops::Range;

use object::elf::ProgramHeader64;
use object::endian::{LittleEndian as LE, U32, U64};

/// The header of a segment that is as large in memory as in the file.
fn segment(kind: u32, flags: u32, file: Range<usize>, address: usize, align: usize) -> ProgramHeader64<LE> {
    let [offset, address, size, align] = [file.start, address, file.len(), align].map(|word| U64::new(LE, word as u64));
    ProgramHeader64 {
        p_type: U32::new(LE, kind),
        p_flags: U32::new(LE, flags),
        p_offset: offset,
        p_vaddr: address,
        p_paddr: address,
        p_filesz: size,
        p_memsz: size,
        p_align: align,
    }
}
