//! What the relocations of a file tell.
//!
//! Which imports it calls: those that its procedure linkage table jumps to. The type of an undefined symbol says nothing (linkers leave it out), a relocation does: `R_X86_64_JUMP_SLOT` is a
//! function, whatever else refers to it. Other relocations tell neither way, and are not looked at.

use std::collections::BTreeSet;

use qmpi_dynamic::relocation::{Relocation, RelocationKind};
use qmpi_dynamic::thread_local::StaticRoom;
use qmpi_dynamic::{Bytes, Dynamic, Table};

use crate::error::Error;
use crate::file::ElfFile;
use crate::file::image::OpenFile;

impl ElfFile {
    /// Names of the functions that it imports and calls through its PLT.
    ///
    /// # Errors
    /// If the file cannot be read any more, or the table lies outside of it.
    pub fn called(&self) -> Result<BTreeSet<&str>, Error> {
        let dynamic = &self.symbols.tables.dynamic;
        if dynamic.extent(Table::PltRelocations).is_none() {
            return Ok(BTreeSet::new());
        }
        let table = read(&OpenFile::open(self.path(), Some(self.machine()))?, dynamic, Table::PltRelocations)?;
        let all = Relocation::all_of(Bytes::from(&table[..]), self.machine());
        let calls = all.filter(|relocation| relocation.kind == RelocationKind::JumpSlot);
        let names = calls.filter_map(|relocation| self.symbols.symbol(relocation.symbol));
        Ok(names.filter(|symbol| !symbol.defined).map(|symbol| symbol.name).collect())
    }
}

/// What the thread-local variables of a file ask for in the static block of each thread. DF_STATIC_TLS says that it needs room there;
/// linkers for AArch64 do not set it.
pub(super) fn static_room(image: &OpenFile, dynamic: &Dynamic) -> Option<StaticRoom> {
    if dynamic.static_tls() {
        return Some(StaticRoom::Needed);
    }
    // A file whose relocations cannot be read is not loaded either.
    let tables =
        [Table::Relocations, Table::PltRelocations].map(|table| read(image, dynamic, table).unwrap_or_default());
    let of_table = |table: &Vec<u8>| {
        let all = Relocation::all_of(Bytes::from(&table[..]), image.machine);
        all.filter_map(|relocation| StaticRoom::of(&relocation, image.machine)).min()
    };
    tables.iter().filter_map(of_table).min()
}

/// The bytes of a table of relocations.
fn read(image: &OpenFile, dynamic: &Dynamic, table: Table) -> Result<Vec<u8>, Error> {
    let Some(extent) = dynamic.extent(table) else { return Ok(Vec::new()) };
    image.read_at_address(table.name(), extent.address, extent.size.unwrap_or(0))
}
