//! Which imports a file calls: those that its procedure linkage table jumps to.
//!
//! The type of an undefined symbol says nothing (linkers leave it out), a relocation does: `R_X86_64_JUMP_SLOT` is a
//! function, whatever else refers to it. Other relocations tell neither way, and are not looked at.

use std::collections::BTreeSet;

use crate::error::Error;
use crate::file::ElfFile;
use crate::image::Image;

/// `Elf64_Rela`: offset, info, addend, 8 bytes each.
const ENTRY_SIZE: usize = 24;
/// x86-64 psABI table 4.9.
const R_X86_64_JUMP_SLOT: u64 = 7;

impl ElfFile {
    /// Names of the functions that it imports and calls through its linkage table.
    ///
    /// # Errors
    /// If the file cannot be read any more, or the table lies outside of it.
    pub fn called(&self) -> Result<BTreeSet<&str>, Error> {
        let Some((address, size)) = self.dynamic.jmprel else { return Ok(BTreeSet::new()) };
        let image = Image::open(self.path())?;
        let table = image.read_at_address("linkage table relocations", address, size)?;
        let word = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).unwrap_or_default();
        let infos = table.chunks_exact(ENTRY_SIZE).map(|entry| word(&entry[8..16]));
        let calls = infos.filter(|info| info & 0xffff_ffff == R_X86_64_JUMP_SLOT);
        let names = calls.filter_map(|info| self.symbols.symbol(usize::try_from(info >> 32).ok()?));
        Ok(names.filter(|symbol| !symbol.defined).map(|symbol| symbol.name).collect())
    }
}
