//! Where the targets put what the fuzzer gives them: before a page that must not be touched, and in a file.

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::OnceLock;

use goblin::container::{Container, Ctx, Endian};
use goblin::elf::header::header64::Header;
use goblin::elf::program_header::{PT_DYNAMIC, PT_LOAD, ProgramHeader};
use qmpi_dynamic::{Bytes, Dynamic, Table, Tables};

/// The most that an input may have; `ci/fuzz` gives it to libFuzzer.
pub const LARGEST: usize = 1 << 16;

/// A copy of `input` behind which the process ends: one byte read too far is a crash, without a sanitizer.
pub fn guarded(input: &[u8]) -> &'static [u8] {
    const PAGE: usize = 0x1000;
    static START: OnceLock<usize> = OnceLock::new();
    let input = &input[..input.len().min(LARGEST)];
    let end = START.get_or_init(|| {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: new pages.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), LARGEST + PAGE, protection, flags, -1, 0) };
        assert_ne!(start, libc::MAP_FAILED);
        // SAFETY: the last of these pages.
        let protected = unsafe { libc::mprotect(start.byte_add(LARGEST), PAGE, libc::PROT_NONE) };
        assert_eq!(protected, 0);
        start.addr() + LARGEST
    });
    let start = (end - input.len()) as *mut u8;
    // SAFETY: inside of the pages above, which one thread uses, for one input at a time.
    unsafe { std::ptr::copy_nonoverlapping(input.as_ptr(), start, input.len()) };
    // SAFETY: as above.
    unsafe { std::slice::from_raw_parts(start, input.len()) }
}

/// Writes `input` to the file in memory that is number `which`, and returns its path.
pub fn file(which: usize, input: &[u8]) -> PathBuf {
    static FILES: OnceLock<[File; 2]> = OnceLock::new();
    let files = FILES.get_or_init(|| {
        let new = |name: &CStr| {
            // SAFETY: a C string.
            let descriptor = unsafe { libc::memfd_create(name.as_ptr(), 0) };
            assert!(descriptor >= 0);
            // SAFETY: a new descriptor.
            unsafe { File::from_raw_fd(descriptor) }
        };
        [new(c"input"), new(c"copy")]
    });
    let file = &files[which];
    file.set_len(input.len() as u64).unwrap();
    file.write_all_at(input, 0).unwrap();
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

const PAGE: usize = 4096;

/// The program headers of an ELF file that is in memory as a whole, and its dynamic section.
fn headers(bytes: &[u8]) -> Option<(Vec<ProgramHeader>, Bytes<'_>)> {
    let header = Header::parse(bytes.get(..64)?).ok()?;
    let context = Ctx { container: Container::Big, le: Endian::Little };
    let table = bytes.get(usize::try_from(header.e_phoff).ok()?..)?;
    let headers = ProgramHeader::parse(table, 0, usize::from(header.e_phnum), context).ok()?;
    let section = headers.iter().find(|header| header.p_type == PT_DYNAMIC)?.p_offset;
    let section = Bytes::from(bytes.get(usize::try_from(section).ok()?..)?);
    Some((headers, section))
}

/// Where an address is in the file, and how many bytes of its segment are behind it.
fn place(headers: &[ProgramHeader], address: u64) -> Option<(usize, usize)> {
    headers.iter().filter(|header| header.p_type == PT_LOAD).find_map(|load| {
        let into = address.checked_sub(load.p_vaddr)?;
        let left = load.p_filesz.checked_sub(into).filter(|left| *left > 0)?;
        Some((usize::try_from(load.p_offset.checked_add(into)?).ok()?, usize::try_from(left).ok()?))
    })
}

/// The tables of an ELF file that is in memory as a whole.
pub fn tables(bytes: &[u8]) -> Option<Tables<'_>> {
    let (headers, section) = headers(bytes)?;
    let memory = |_, address| {
        let (offset, left) = place(&headers, address)?;
        Some(Bytes::from(bytes.get(offset..)?).up_to(left))
    };
    Some(Tables::of(&Dynamic::of(section, |address| address), section, memory))
}

/// Does a table of the file begin among its headers? A change of those is then one of the table.
pub fn has_table_in_headers(bytes: &[u8], end_of_headers: usize) -> bool {
    // Zeros are mapped behind the end of the file, up to the end of its last page: a dynamic section that is cut off goes on there.
    let mut mapped = bytes.to_vec();
    mapped.resize(mapped.len().next_multiple_of(PAGE), 0);
    let Some((headers, section)) = headers(&mapped) else { return false };
    let dynamic = Dynamic::of(section, |address| address);
    let tables = [
        Table::Strings,
        Table::Symbols,
        Table::GnuHash,
        Table::SysvHash,
        Table::VersionIndexes,
        Table::VersionDefinitions,
        Table::VersionNeeds,
    ];
    let mut places = tables.into_iter().filter_map(|table| place(&headers, dynamic.extent(table)?.address));
    places.any(|(offset, _)| offset < end_of_headers)
}

/// Are the segments in the order of their addresses, each behind the one before it, as the gABI wants and all linkers have it? In other
/// files the place of a table is a matter of which segment is looked at first.
pub fn has_sorted_segments(bytes: &[u8]) -> bool {
    let Some((headers, _)) = headers(bytes) else { return false };
    let loads = headers.iter().filter(|header| header.p_type == PT_LOAD);
    let mut end = 0;
    loads.into_iter().all(|load| {
        let is_behind = load.p_vaddr >= end;
        end = load.p_vaddr.saturating_add(load.p_memsz.max(load.p_filesz));
        is_behind
    })
}
