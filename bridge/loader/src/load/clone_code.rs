//! The code of a clone: pages of the tool's own file, where `ld.so` has mapped those of a copy in memory.
//!
//! Profilers look an address up in `/proc/self/maps` and open the file that stands there, for functions and lines. A file in
//! memory cannot be opened by that name, and some crash. The copy differs from the tool's file in its program headers and
//! in what stands behind the end, so nothing changes but the name; and all instances share the pages.
#![expect(unsafe_code, reason = "replaces pages of a loaded object by pages with the same contents")]

use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;

use libc::{Elf64_Phdr, PF_R, PF_W, PF_X, PT_LOAD};
use qmpi_dynamic::LinkerLock;
use qmpi_links::arch::page_size;

use crate::link_map::LinkMap;

/// Maps the code of `clone` from `file`, in which `bytes` stand. Pages that are not the same stay: those with the program
/// headers, and those that have been written to.
pub(crate) fn take_from(_: &LinkerLock, file: &File, bytes: &[u8], clone: &'static LinkMap) {
    let Some(headers) = clone.program_headers() else { return };
    let is_code =
        |header: &&Elf64_Phdr| header.p_type == PT_LOAD && header.p_flags & (PF_R | PF_W | PF_X) == PF_R | PF_X;
    // Without them nothing is taken.
    let start = qmpi_elf::write::duplicate::end_of_headers(bytes).unwrap_or(bytes.len());
    for header in headers.iter().filter(is_code) {
        let Some(pages) = pages(header, start) else { continue };
        // The distance of an address from its place in the file is the same for the whole segment.
        let address = (clone.base + header.p_vaddr as usize).wrapping_sub(header.p_offset as usize) + pages.start;
        if pages.is_empty() || !is_same(address, pages.len(), bytes.get(pages.start..).unwrap_or_default()) {
            continue;
        }
        // SAFETY: pages of the clone's code, replaced at once by the same bytes. A file that cannot be mapped, on a system
        // without execution for instance, is refused before the old pages go.
        unsafe {
            libc::mmap(
                address as *mut libc::c_void,
                pages.len(),
                libc::PROT_READ | libc::PROT_EXEC,
                libc::MAP_PRIVATE | libc::MAP_FIXED,
                file.as_raw_fd(),
                pages.start as libc::off_t,
            )
        };
    }
}

/// The whole pages of the file that this segment is mapped from, behind `start`.
fn pages(header: &Elf64_Phdr, start: usize) -> Option<Range<usize>> {
    let offset = usize::try_from(header.p_offset).ok()?;
    let page = page_size();
    let end = offset.checked_add(usize::try_from(header.p_filesz).ok()?)?.checked_next_multiple_of(page)?;
    let start = (offset / page * page).max(start.next_multiple_of(page));
    Some(start..end.max(start))
}

/// Do these bytes, and zeros behind them, stand at the address?
fn is_same(address: usize, len: usize, bytes: &[u8]) -> bool {
    // SAFETY: pages of a readable segment, which `ld.so` has mapped.
    let memory = unsafe { std::slice::from_raw_parts(address as *const u8, len) };
    let (known, rest) = memory.split_at(len.min(bytes.len()));
    known == &bytes[..known.len()] && rest.iter().all(|byte| *byte == 0)
}
