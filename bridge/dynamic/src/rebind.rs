//! Rebinding an object that is already loaded: the words that hold a symbol's address get another one.
#![expect(unsafe_code, reason = "writes into the GOT of loaded objects")]

use core::sync::atomic::{AtomicUsize, Ordering};

use crate::linker_lock::LinkerLock;
use crate::mapped::Mapped;
use crate::relocation::Reference;

/// Points references of `object` for which `target` has an address there; `target` may ask what the word holds, and is asked about names
/// that begin with four bytes that `is_likely` likes. Returns how many references were changed.
///
/// # Safety
/// The object's references to these names may be changed: they are function pointers or addresses of variables that nothing has
/// remembered in another place. `ld.so` has relocated the object: it has, unless an IFUNC resolver of the object is what has called.
pub unsafe fn rebind(
    _: &LinkerLock,
    object: &Mapped<'_>,
    is_likely: impl Fn([u8; 4]) -> bool,
    mut target: impl FnMut(&Reference<'_>, &dyn Fn() -> usize) -> Option<usize>,
) -> usize {
    let mut words = Words { object, unprotected: None };
    let mut count = 0_usize;
    for reference in object.tables().bindings_like(is_likely) {
        // Most references are of no interest: nothing else is looked at for their names.
        let value = || words.at(reference.offset).map_or(0, |(word, _)| word.load(Ordering::Relaxed));
        if let Some(address) = target(&reference, &value)
            && words.store(reference.offset, address.wrapping_add_signed(reference.addend as isize))
        {
            count = count.wrapping_add(1);
        }
    }
    count
}

/// The words of an object, which is loaded as long as `'a` lasts.
pub(crate) struct Words<'a> {
    pub(crate) object: &'a Mapped<'a>,
    pub(crate) unprotected: Option<Unprotected>,
}

impl Words<'_> {
    /// The word at this address of the file, and where it is.
    fn at(&self, offset: u64) -> Option<(&AtomicUsize, usize)> {
        let place = self.object.word(offset)?;
        // SAFETY: an aligned word inside of a segment of the object, which other threads may read meanwhile.
        Some((unsafe { AtomicUsize::from_ptr(core::ptr::with_exposed_provenance_mut(place)) }, place))
    }

    /// Writes a word, if there is one.
    pub(crate) fn store(&mut self, offset: u64, value: usize) -> bool {
        let segments = self.object.segments();
        if self.unprotected.is_none() && self.at(offset).is_some_and(|(_, place)| !segments.is_writable(place)) {
            self.unprotected = Some(Unprotected::new(self.object));
        }
        self.at(offset).map(|(word, _)| word.store(value, Ordering::Relaxed)).is_some()
    }
}

/// The object's RELRO pages, writable as long as this lives.
pub(crate) struct Unprotected {
    start: usize,
    len: usize,
}

impl Unprotected {
    fn new(object: &Mapped<'_>) -> Unprotected {
        let (start, len) = object.segments().relro().map_or((0, 0), |relro| (relro.start, relro.len()));
        // SAFETY: asks for a constant.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let mask = !page.wrapping_sub(1);
        // As `elf/dl-reloc.c:_dl_protect_relro`: whole pages, rounded down at both ends.
        let (first, end) = (start & mask, start.wrapping_add(len) & mask);
        let region = Unprotected { start: first, len: end.saturating_sub(first) };
        region.protect(libc::PROT_READ | libc::PROT_WRITE);
        region
    }

    fn protect(&self, protection: i32) {
        if self.len > 0 {
            // SAFETY: pages of a loaded object that hold no code.
            unsafe { libc::mprotect(core::ptr::with_exposed_provenance_mut(self.start), self.len, protection) };
        }
    }
}

impl Drop for Unprotected {
    fn drop(&mut self) {
        self.protect(libc::PROT_READ);
    }
}
