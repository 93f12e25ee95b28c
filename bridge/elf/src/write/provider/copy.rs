//! A provider that is copied from the tables of the library that it stands for.

use object::pod::bytes_of;
use qmpi_dynamic::{Bytes, Symbol, SymbolKind};

use super::{Contents, Life, ProvidedKind, SYMBOL, Strings, TableRanges, record, version_definitions};

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
    let mut strings = Strings::new(u32::try_from(original.strings.len()).ok()?);
    let soname_at = strings.add(soname);
    let (mut verdefs, mut numbers) = (Vec::new(), 0);
    if !original.version_indexes.is_empty() {
        let own = library.version_definitions().filter(|definition| !definition.is_base);
        let own = own.filter_map(|definition| Some((definition.number, definition.name()?.to_bytes())));
        let own = own.inspect(|_| numbers += 1);
        verdefs = version_definitions(soname, soname_at, own, &mut strings);
    }
    let count = library.symbol_count();
    let symbols_size = count.checked_mul(SYMBOL)?;
    let parts = original.hash.iter().chain([&original.strings, &original.version_indexes]);
    let size = parts.map(|part| part.len()).sum::<usize>() + symbols_size + strings.text.len() + verdefs.len();
    let mut file = Contents::with_room_for(size);
    let hash = file.section(|file| original.hash.into_iter().for_each(|part| append(part, file)));
    let symbols = file.section(|file| file.resize(file.len() + symbols_size, 0));
    for symbol in library.symbols().filter(|symbol| symbol.is_found_by_linker()) {
        let Some(address) = address(&symbol) else { continue };
        let kind = match symbol.kind() {
            SymbolKind::Data => ProvidedKind::Data,
            _ => ProvidedKind::Function,
        };
        let name = u32::try_from(symbol.name_offset()).ok()?;
        let record = record(kind, address, name);
        file.0[symbols.clone()][symbol.index() * SYMBOL..][..SYMBOL].copy_from_slice(bytes_of(&record));
    }
    let strings = file.section(|file| {
        append(original.strings, file);
        file.extend_from_slice(&strings.text);
    });
    let versyms = file.section(|file| append(original.version_indexes, file));
    let verdefs = file.section(|file| file.extend_from_slice(&verdefs));
    Some(file.finish(
        &TableRanges { hash, symbols, strings, versyms, verdefs },
        soname_at,
        &[],
        numbers,
        Life::default(),
    ))
}

fn append(bytes: Bytes<'_>, file: &mut Vec<u8>) {
    let start = file.len();
    file.resize(start + bytes.len(), 0);
    bytes.copy_to(&mut file[start..]);
}
