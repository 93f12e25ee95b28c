//! The segments of an object in this process: what of the address space is its own, and what may be done there.
//!
//! # Safety
//! [`Segments`] are made from what `ld.so` reports, so that each PT_LOAD is mapped. Views of memory never leave one of them.
#![expect(unsafe_code, reason = "makes views of mapped segments")]

use core::ops::Range;

use libc::{Elf64_Phdr, PF_R, PF_W, PT_DYNAMIC, PT_GNU_RELRO, PT_LOAD, PT_NOTE};

use crate::bytes::Bytes;

/// The program headers of a loaded object, and where it was loaded.
#[derive(Debug, Clone, Copy)]
pub struct Segments<'a> {
    base: usize,
    headers: &'a [Elf64_Phdr],
}

impl<'a> Segments<'a> {
    /// The segments of the object at `base`.
    ///
    /// # Safety
    /// The object is loaded there, has these program headers, and stays as long as `'a` lasts.
    pub const unsafe fn new(base: usize, headers: &'a [Elf64_Phdr]) -> Segments<'a> {
        Segments { base, headers }
    }

    /// What is added to the addresses in the file.
    pub fn base(&self) -> usize {
        self.base
    }

    /// Its program headers.
    pub fn headers(&self) -> &'a [Elf64_Phdr] {
        self.headers
    }

    /// Does `address` lie in one of its segments?
    #[inline]
    pub fn contains(&self, address: usize) -> bool {
        self.loaded(0).any(|part| part.contains(&address))
    }

    /// The part that `ld.so` made read-only after relocation.
    pub fn relro(&self) -> Option<Range<usize>> {
        self.headers.iter().find(|header| header.p_type == PT_GNU_RELRO).map(|header| self.memory(header))
    }

    /// May the process write at `address` of this object once it is relocated?
    pub fn is_writable(&self, address: usize) -> bool {
        let is_relro = self.relro().is_some_and(|relro| relro.contains(&address));
        !is_relro && self.loaded(PF_W).any(|part| part.contains(&address))
    }

    /// The bytes from an address to the end of the readable segment that it lies in.
    pub fn bytes(&self, address: usize) -> Option<Bytes<'a>> {
        let part = self.loaded(PF_R).find(|part| part.contains(&address))?;
        let start = core::ptr::with_exposed_provenance(address);
        // SAFETY: mapped and readable, as `new` requires.
        Some(unsafe { Bytes::new(start, part.end.wrapping_sub(address)) })
    }

    /// The dynamic section, up to the end of its segment: ld.so goes on to DT_NULL, whatever PT_DYNAMIC says. Of several the
    /// last one counts (`elf/dl-load.c: _dl_map_object_from_fd`).
    pub fn dynamic_section(&self) -> Option<Bytes<'a>> {
        let headers = self.headers.iter().rev();
        let header = headers.into_iter().find(|header| header.p_type == PT_DYNAMIC && header.p_filesz > 0)?;
        self.bytes(self.address(header.p_vaddr))
    }

    /// Each segment of notes, with its alignment.
    pub fn notes(&self) -> impl Iterator<Item = (Bytes<'a>, u64)> + use<'a> {
        let segments = *self;
        let headers = self.headers.iter().filter(|header| header.p_type == PT_NOTE);
        headers.filter_map(move |header| {
            let bytes = segments.bytes(segments.address(header.p_vaddr))?;
            Some((bytes.first(usize::try_from(header.p_memsz).ok()?)?, header.p_align))
        })
    }

    /// Where an address of the file is in this process.
    #[inline]
    pub(crate) fn address(&self, address: u64) -> usize {
        self.base.wrapping_add(address as usize)
    }

    /// The PT_LOADs with all of these flags.
    fn loaded(&self, flags: u32) -> impl Iterator<Item = Range<usize>> + use<'a> {
        let segments = *self;
        let loaded =
            self.headers.iter().filter(move |header| header.p_type == PT_LOAD && header.p_flags & flags == flags);
        loaded.map(move |header| segments.memory(header))
    }

    fn memory(&self, header: &Elf64_Phdr) -> Range<usize> {
        let start = self.address(header.p_vaddr);
        start..start.saturating_add(usize::try_from(header.p_memsz).unwrap_or(usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use libc::PF_X;

    use super::*;

    #[test]
    fn parts_of_a_segment() {
        let memory = [7_u8; 64];
        let header = |p_type, p_flags, p_vaddr, size| Elf64_Phdr {
            p_type,
            p_flags,
            p_offset: 0,
            p_vaddr,
            p_paddr: 0,
            p_filesz: size / 2,
            p_memsz: size,
            p_align: 4,
        };
        let headers = [
            header(PT_LOAD, PF_R, 0, 16),
            header(PT_LOAD, PF_R | PF_X, 16, 16),
            header(PT_LOAD, PF_R | PF_W, 32, 32),
            header(PT_GNU_RELRO, PF_R, 32, 8),
            header(PT_NOTE, PF_R, 4, 8),
            header(PT_NOTE, PF_R, 12, 8),
        ];
        let base = memory.as_ptr().expose_provenance();
        // SAFETY: what lies in these segments is the array above.
        let segments = unsafe { Segments::new(base, &headers) };
        assert!(segments.contains(base) && segments.contains(base + 63));
        assert!(!segments.contains(base + 64) && !segments.contains(base - 1));
        assert!(!segments.is_writable(base + 32) && segments.is_writable(base + 40) && !segments.is_writable(base));
        assert_eq!(segments.bytes(base + 10).map(Bytes::len), Some(6));
        assert_eq!(segments.bytes(base + 16).map(Bytes::len), Some(16), "never into the next segment");
        assert!(segments.bytes(base + 64).is_none());
        assert_eq!(segments.notes().count(), 1, "one reaches beyond its segment");
    }
}
