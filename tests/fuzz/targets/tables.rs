//! All that can be asked of the tables of an object, in memory that ends with the input.
#![no_main]

use libfuzzer_sys::fuzz_target;
use qmpi_dynamic::hash;

fuzz_target!(|input: &[u8]| {
    let Some(tables) = qmpi_fuzz::tables(qmpi_fuzz::guarded(input)) else { return };
    let room = input.len();
    let mut asked = 0;
    for symbol in tables.symbols() {
        assert!(symbol.index() < tables.symbol_count() && tables.symbol_count() * 24 <= room);
        // Names that all are parts of one long name are the caller's business.
        let Some(name) = symbol.name().filter(|_| asked < 1 << 20) else { continue };
        asked += name.count_bytes();
        let hash = hash::gnu(name.to_bytes());
        let found = tables.find(name.to_bytes(), hash);
        assert!(found.is_none_or(|found| found.name() == Some(name) && found.is_found_by_linker()));
        if let Some(version) = tables.version_index(symbol.index()).and_then(|index| tables.defined_version(index)) {
            let found = tables.find_versioned(name.to_bytes(), hash, version.to_bytes());
            assert!(found.is_none_or(|found| found.name() == Some(name)));
        }
    }
    assert!(tables.version_definitions().count() <= room && tables.version_needs().count() <= room);
    let names = tables.version_needs().filter_map(|need| need.name().or(need.file()));
    std::hint::black_box(names.map(|name| name.count_bytes()).take(100).sum::<usize>());
    assert!(tables.needed().count() <= room && tables.bindings_like(|_: [u8; 1]| true).count() <= room);
    assert!(tables.undefined().count() <= room);
    std::hint::black_box((tables.check(), tables.soname()));
});
