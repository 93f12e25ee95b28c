//! Rebinding an object that is already loaded: the words that hold a symbol's address get another one.
#![expect(unsafe_code, reason = "writes into the GOT of loaded objects")]

use core::sync::atomic::{AtomicUsize, Ordering};

use crate::linker_lock::LinkerLock;
use crate::mapped::Mapped;
use crate::relocation::Binding;

/// Which references to rebind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// All of them.
    All,
    /// Calls: function pointers stay equal to those that others have.
    Calls,
    /// Weak ones, by which a program asks whether a function exists.
    Weak,
}

/// Points references of `object` for which `target` has an address there; `target` may ask what the word holds, and is asked about names
/// that begin with four bytes that `is_likely` likes. Returns how many references were changed.
///
/// # Safety
/// The object's references to these names may be changed: they are function pointers or addresses of variables that nothing has
/// remembered in another place. `ld.so` has relocated the object: it has, unless an IFUNC resolver of the object is what has called.
pub unsafe fn rebind(
    _: &LinkerLock,
    object: &Mapped<'_>,
    which: Which,
    is_likely: impl Fn([u8; 4]) -> bool,
    mut target: impl FnMut(&Binding<'_>, &dyn Fn() -> usize) -> Option<usize>,
) -> usize {
    let mut unprotected = None;
    let mut count = 0_usize;
    for binding in object.tables().bindings_like(is_likely) {
        let is_concerned = match which {
            Which::All => true,
            Which::Calls => binding.is_call,
            Which::Weak => binding.is_weak,
        };
        if !is_concerned {
            continue;
        }
        // Most bindings are of no interest: nothing else is looked at for their names.
        let word = |place| {
            // SAFETY: of the object, which stays meanwhile.
            unsafe { word_at(place) }
        };
        let value = || object.place(&binding).map_or(0, |place| word(place).load(Ordering::Relaxed));
        let Some(address) = target(&binding, &value) else { continue };
        let Some(place) = object.place(&binding) else { continue };
        if !object.segments().is_writable(place) && unprotected.is_none() {
            unprotected = Some(Unprotected::new(object));
        }
        word(place).store(address.wrapping_add_signed(binding.addend as isize), Ordering::Relaxed);
        count = count.wrapping_add(1);
    }
    count
}

/// The word of a binding.
///
/// # Safety
/// [`Mapped::place`] found it, in an object that stays.
pub(crate) unsafe fn word_at<'a>(place: usize) -> &'a AtomicUsize {
    // SAFETY: an aligned word inside of a segment of the object, which other threads may read meanwhile.
    unsafe { AtomicUsize::from_ptr(core::ptr::with_exposed_provenance_mut(place)) }
}

/// The object's RELRO pages, writable as long as this lives.
pub(crate) struct Unprotected {
    start: usize,
    len: usize,
}

impl Unprotected {
    pub(crate) fn new(object: &Mapped<'_>) -> Unprotected {
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
