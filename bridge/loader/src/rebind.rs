//! Rebinding an object that is already loaded: the words that hold a symbol's address get another one.
//!
//! For objects of the base namespace that call `PMPI_*` where the call has to enter the chain. libqmpi cannot define
//! `PMPI_*` for that: the MPI library calls these names itself, and an application that does means to bypass tools.
#![expect(unsafe_code, reason = "writes into the GOT of loaded objects")]

use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::image::{Binding, Image};

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

/// Points references of `image` to a name for which `target` has an address there. Returns how many there were.
pub fn rebind(image: &Image, which: Which, target: impl Fn(&CStr) -> Option<usize>) -> usize {
    let mut unprotected = None;
    let mut count = 0;
    let concerned = |binding: &Binding| match which {
        Which::All => true,
        Which::Calls => binding.is_call,
        Which::Weak => binding.is_weak,
    };
    for binding in image.bindings().filter(concerned) {
        let Some(address) = target(binding.name) else { continue };
        if !image.is_writable(binding.place.addr()) && unprotected.is_none() {
            unprotected = Some(Unprotected::new(image));
        }
        let value = address.wrapping_add_signed(binding.addend as isize);
        // SAFETY: an aligned word of the object's GOT or data, writable by now; other threads may read it meanwhile.
        let word = unsafe { AtomicUsize::from_ptr(binding.place) };
        word.store(value, Ordering::Relaxed);
        count += 1;
    }
    count
}

/// The object's RELRO pages, writable as long as this lives.
struct Unprotected {
    start: usize,
    len: usize,
}

impl Unprotected {
    fn new(image: &Image) -> Unprotected {
        let (start, len) = image.relro().unwrap_or((0, 0));
        // SAFETY: asks for a constant.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        // As `elf/dl-reloc.c:_dl_protect_relro`: whole pages, rounded down at both ends.
        let first = start & !(page - 1);
        let region = Unprotected { start: first, len: ((start + len) & !(page - 1)) - first };
        region.protect(libc::PROT_READ | libc::PROT_WRITE);
        region
    }

    fn protect(&self, protection: i32) {
        if self.len > 0 {
            // SAFETY: pages of a loaded object that hold no code.
            unsafe { libc::mprotect(self.start as *mut _, self.len, protection) };
        }
    }
}

impl Drop for Unprotected {
    fn drop(&mut self) {
        self.protect(libc::PROT_READ);
    }
}
