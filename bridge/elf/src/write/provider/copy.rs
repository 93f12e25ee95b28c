//! A provider that is copied from the tables of the library that it stands for.

use object::pod::bytes_of;
use qmpi_dynamic::{Kind, Symbol};

use super::{PAGE, ProvidedKind, SYMBOL, Strings, Tables, record, version_definitions};

/// Writes the provider of a library with the library's own hash table, names and versions: `address` says where each of its definitions
/// is, and leaves out those for which it has none. A provider of thousands of symbols is made in a fifth of the time so.
///
/// `None` if the library has no such tables in one piece.
pub fn copy<'a>(
    soname: &str,
    library: &qmpi_dynamic::Tables<'a>,
    mut address: impl FnMut(&Symbol<'a>) -> Option<u64>,
) -> Option<Vec<u8>> {
    let original = library.of_definitions()?;
    let mut strings = Strings(Vec::with_capacity(original.strings.len() + PAGE));
    strings.0.resize(original.strings.len(), 0);
    original.strings.copy_to(&mut strings.0);
    let soname_at = strings.add(soname);
    let mut hash = vec![0; original.hash.iter().map(|part| part.len()).sum()];
    let mut rest = hash.as_mut_slice();
    for part in original.hash {
        part.copy_to(rest);
        rest = &mut rest[part.len()..];
    }
    let count = library.symbol_count();
    let mut tables =
        Tables { hash, symbols: vec![0; count * SYMBOL], versyms: vec![0; count * size_of::<u16>()], verdefs: vec![] };
    original.version_indexes.copy_to(&mut tables.versyms);
    for symbol in library.symbols().filter(|symbol| symbol.is_found_by_linker()) {
        let Some(address) = address(&symbol) else { continue };
        let kind = match symbol.kind() {
            Kind::Data => ProvidedKind::Data,
            _ => ProvidedKind::Function,
        };
        let name = u32::try_from(symbol.name_offset()).ok()?;
        tables.symbols[symbol.index() * SYMBOL..][..SYMBOL].copy_from_slice(bytes_of(&record(kind, address, name)));
    }
    let mut numbers = 0;
    if original.version_indexes.is_empty() {
        tables.versyms.clear();
    } else {
        let own = library.version_definitions().filter(|definition| !definition.is_base);
        let own = own.filter_map(|definition| Some((definition.number, definition.name()?.to_bytes())));
        let own = own.inspect(|_| numbers += 1);
        tables.verdefs = version_definitions(soname, soname_at, own, &mut strings);
    }
    Some(tables.lay_out(&strings.0, soname_at, &[], numbers, None).0)
}
