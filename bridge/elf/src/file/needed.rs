//! DT_NEEDED alone, for whoever asks it of each library that a program opens: a few reads, and none of the symbols.

use qmpi_dynamic::{Bytes, Dynamic, Table, Tables};

use crate::error::Error;
use crate::file::image::OpenFile;
use crate::file::tables::dynamic_section;

/// Longer names are left out: no SONAME that a linker has been given is so long.
const LONGEST: u64 = 256;

/// The names of the libraries that a file needs.
pub(crate) fn of(image: &OpenFile) -> Result<Vec<Vec<u8>>, Error> {
    let section = dynamic_section(image)?;
    let section = Bytes::from(&section[..]);
    let dynamic = Dynamic::of(section, |address| address);
    let Some(strings) = dynamic.extent(Table::Strings) else { return Ok(Vec::new()) };
    let mut names = Vec::new();
    for name in Tables::of(&dynamic, section, |_, _| None).needed_offsets() {
        let (offset, left) = image.locate(Table::Strings.name(), strings.address.saturating_add(name))?;
        let mut text = image.read_up_to(offset, left.min(LONGEST))?;
        let Some(end) = text.iter().position(|byte| *byte == 0) else { continue };
        text.truncate(end);
        names.push(text);
    }
    Ok(names)
}
