//! The relocations of a file: which thread-local variables it has, and which imports it calls.

use qmpi_dynamic::relocation::Relocation;
use qmpi_dynamic::thread_local::StaticRoom;
use qmpi_dynamic::{Bytes, Dynamic, Table};

use crate::error::ElfError;
use crate::file::image::OpenFile;

/// What the thread-local variables of a file ask for in the static block of each thread. DF_STATIC_TLS says that it needs room there;
/// linkers for AArch64 do not set it.
pub(super) fn static_room(image: &OpenFile, dynamic: &Dynamic) -> Option<StaticRoom> {
    if dynamic.static_tls() {
        return Some(StaticRoom::Needed);
    }
    // A file whose relocations cannot be read is not loaded either.
    let tables = [Table::Relocations, Table::PltRelocations].map(|table| of(image, dynamic, table).unwrap_or_default());
    tables.iter().flatten().filter_map(StaticRoom::of).min()
}

/// Those of a table.
pub(super) fn of(image: &OpenFile, dynamic: &Dynamic, table: Table) -> Result<Vec<Relocation>, ElfError> {
    let Some(extent) = dynamic.extent(table) else { return Ok(Vec::new()) };
    let bytes = image.read_at_address(table.name(), extent.address, extent.size.unwrap_or(0))?;
    Ok(Relocation::all(Bytes::from(&bytes[..]), image.machine).collect())
}
