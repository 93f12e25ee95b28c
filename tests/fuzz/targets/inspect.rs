//! A file is inspected, as `qmpi inspect` and the runtime do: an answer or an error of one line.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use qmpi_elf::{ElfFile, SearchPath, Tool};

fuzz_target!(|input: &[u8]| {
    // Libraries of this system cost time, and are not what is fuzzed.
    static NOWHERE: OnceLock<SearchPath> = OnceLock::new();
    let search = NOWHERE.get_or_init(|| SearchPath::new(None).with_system(Vec::new()));
    let path = qmpi_fuzz::file(0, input);
    match Tool::inspect(&path, &[], search, &|_| false) {
        Ok(tool) => {
            std::hint::black_box((tool.called().len(), tool.clone_obstacle(), tool.hazards.len()));
        }
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
    }
    if let Ok(file) = ElfFile::open_program(&path, search.machine()) {
        let versions = file.symbols().filter(|symbol| symbol.version.is_some()).count();
        std::hint::black_box((versions, file.numberings().is_ok(), file.unique_count()));
    }
});
