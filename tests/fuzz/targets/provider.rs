//! What is written into a provider is found in it: each name, with its address and its version.
//!
//! An input is a list of names that end with NUL; the first byte of a name says which version it has.
#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use qmpi_dynamic::hash;
use qmpi_elf::write::provider::{Provided, ProvidedVersion, write};

const VERSIONS: [&str; 3] = ["V1", "V1.1", "V2"];

fuzz_target!(|input: &[u8]| {
    let mut seen = HashSet::new();
    let texts = input.split(|byte| *byte == 0).filter_map(|text| Some((text[..].first()?, str::from_utf8(text).ok()?)));
    let symbols: Vec<Provided<'_>> = texts
        .filter(|(_, text)| seen.insert(*text))
        .enumerate()
        .map(|(index, (kind, text))| {
            let version = VERSIONS.get(usize::from(kind % 4)).map(|_| usize::from(kind % 4));
            let version = version.map(|place| ProvidedVersion { place: place as u16, default: kind & 4 == 0 });
            Provided { version, ..Provided::function(text, 0x1000 + index) }
        })
        .collect();
    let file = write("libprovider.so", &["libc.so.6"], &VERSIONS, &symbols).unwrap();
    let tables = qmpi_fuzz::tables(qmpi_fuzz::guarded(&file)).filter(|_| file.len() <= qmpi_fuzz::LARGEST);
    let Some(tables) = tables else { return };
    assert_eq!(tables.check(), None);
    assert_eq!(tables.symbol_count(), 1 + symbols.len());
    for symbol in &symbols {
        let name = symbol.name.bytes();
        let version = symbol.version.map_or("any", |version| VERSIONS[usize::from(version.place)]);
        for found in
            [tables.find(name, hash::gnu(name)), tables.find_versioned(name, hash::gnu(name), version.as_bytes())]
        {
            assert_eq!(found.map(|found| found.value()), Some(symbol.address), "{}", symbol.name);
        }
    }
});
