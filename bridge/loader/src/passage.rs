//! A link of the chain that tells of each call that comes past: `MPI_Finalize` must reach the MPI library.

use crate::error::LoadError;
use crate::{arch, trampoline};

/// Called with the station's number and the stack pointer at the function's entry, where the return address is.
pub type Visit = extern "C" fn(usize, *const usize);

/// Whom to tell, and the link behind it.
#[repr(C)]
pub(crate) struct Passage {
    pub(crate) visit: Visit,
    pub(crate) station: usize,
    pub(crate) target: usize,
}

/// Makes a link that calls `visit` and jumps to `target`, whose caller it does not hide.
///
/// For functions without arguments only: none are kept.
///
/// # Errors
/// When no further stubs can be mapped.
pub fn watch(target: usize, visit: Visit, station: usize) -> Result<usize, LoadError> {
    trampoline::allocate(arch::passage, Box::leak(Box::new(Passage { visit, station, target })))
}
