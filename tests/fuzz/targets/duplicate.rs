//! A copy of a library that can be read is a library that can be read, and needs what was asked for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use qmpi_elf::ElfFile;
use qmpi_elf::write::duplicate::{Changes, duplicate, end_of_headers};

fuzz_target!(|input: &[u8]| {
    const NEEDED: [&str; 2] = ["/proc/self/fd/600", "libm.so.6"];
    const CHANGES: Changes<'_> = Changes { needed: &NEEDED, runpath: Some("/opt/lib") };
    let end = end_of_headers(input).unwrap_or(0);
    let Ok(copy) = duplicate(input, &CHANGES) else { return };
    assert!(copy.len() <= 2 * input.len() + 0x2000);
    let is_plain = !qmpi_fuzz::has_table_in_headers(input, end) && qmpi_fuzz::has_sorted_segments(input);
    // The caller has opened the original.
    if is_plain && ElfFile::open(&qmpi_fuzz::file(0, input)).is_ok() {
        let copy = ElfFile::open(&qmpi_fuzz::file(1, &copy)).unwrap();
        assert_eq!(copy.needed(), NEEDED);
        assert_eq!((copy.runpath(), copy.soname()), (Some("/opt/lib"), None));
    }
});
