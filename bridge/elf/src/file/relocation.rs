//! Which imports a file calls: those that its procedure linkage table jumps to.
//!
//! The type of an undefined symbol says nothing (linkers leave it out), a relocation does: `R_X86_64_JUMP_SLOT` is a
//! function, whatever else refers to it. Other relocations tell neither way, and are not looked at.

use std::collections::BTreeSet;

use qmpi_dynamic::relocation::{Kind, Relocation};
use qmpi_dynamic::{Bytes, Table};

use crate::error::Error;
use crate::file::ElfFile;
use crate::file::image::Image;

impl ElfFile {
    /// Names of the functions that it imports and calls through its PLT.
    ///
    /// # Errors
    /// If the file cannot be read any more, or the table lies outside of it.
    pub fn called(&self) -> Result<BTreeSet<&str>, Error> {
        const TABLE: Table = Table::PltRelocations;
        let Some(extent) = self.symbols.tables.dynamic.extent(TABLE) else { return Ok(BTreeSet::new()) };
        let image = Image::open(self.path())?;
        let table = image.read_at_address(TABLE.name(), extent.address, extent.size.unwrap_or(0))?;
        let calls = Relocation::all(Bytes::from(&table[..])).filter(|relocation| relocation.kind == Kind::JumpSlot);
        let names = calls.filter_map(|relocation| self.symbols.symbol(relocation.symbol));
        Ok(names.filter(|symbol| !symbol.defined).map(|symbol| symbol.name).collect())
    }
}
