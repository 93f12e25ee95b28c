//! Rebinding an object that is already loaded: the words that hold a symbol's address get another one.
//!
//! For objects of the base namespace that call `PMPI_*` where the call has to enter the chain. libqmpi cannot define
//! `PMPI_*` for that: the MPI library calls these names itself, and an application that does means to bypass tools.
#![expect(unsafe_code, reason = "writes into the GOT of loaded objects")]

pub use qmpi_dynamic::relocation::Reference;

use qmpi_dynamic::LinkerLock;

use crate::image::Image;

/// Points references of `image` for which `target` has an address there. Returns how many there were.
pub fn rebind(lock: &LinkerLock, image: &Image, target: impl Fn(&Reference<'_>) -> Option<usize>) -> usize {
    exchange(lock, image, |_| true, |reference, _| target(reference))
}

/// The same for references to names that begin with four bytes that `is_likely` likes; `target` may ask what the word holds now.
pub fn exchange(
    lock: &LinkerLock,
    image: &Image,
    is_likely: impl Fn([u8; 4]) -> bool,
    target: impl Fn(&Reference<'_>, &dyn Fn() -> usize) -> Option<usize>,
) -> usize {
    // SAFETY: the callers name functions, to which nothing has bound elsewhere.
    unsafe { qmpi_dynamic::rebind::rebind(lock, image.mapped(), is_likely, target) }
}
