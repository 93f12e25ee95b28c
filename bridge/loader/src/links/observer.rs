//! A link that reports each call before it goes on: how far `MPI_Finalize` comes, and that MPI is about to be initialized.

use crate::arch;
use crate::error::LoadError;
use crate::links::trampoline;

/// Called with the number of the edge.
pub type Notify = extern "C" fn(usize);

/// The function that a call is reported to, and the link behind it.
#[repr(C)]
pub(crate) struct Observer {
    pub(crate) notify: Notify,
    pub(crate) edge: usize,
    pub(crate) target: usize,
}

/// Makes a link that calls `notify` and jumps to `target`, whose caller and arguments stay as they are.
///
/// # Errors
/// When no further stubs can be mapped.
pub fn observe(target: usize, notify: Notify, edge: usize) -> Result<usize, LoadError> {
    trampoline::allocate(arch::observer, Box::leak(Box::new(Observer { notify, edge, target })))
}
