//! A link that reports each call before it goes on: how far `MPI_Finalize` comes, and that MPI is about to be initialized.

use crate::arch;
use crate::error::StubError;
use crate::trampoline;

/// Called with the number of the edge.
pub type Notify = extern "C" fn(usize);

/// Called with the number of the edge, and the second of the call's arguments, as a register holds it.
pub type NotifySecond = extern "C" fn(usize, usize);

/// The function that a call is reported to, and the link behind it.
#[repr(C)]
pub(crate) struct Observer {
    /// The address of a [`Notify`] or a [`NotifySecond`]: when it is called, registers have the call's arguments but for the first.
    pub(crate) notify: usize,
    pub(crate) edge: usize,
    pub(crate) target: usize,
}

/// Makes a link that calls `notify` and jumps to `target`, whose caller and arguments stay as they are.
///
/// # Errors
/// When no further stubs can be mapped.
pub fn observe(target: usize, notify: Notify, edge: usize) -> Result<usize, StubError> {
    allocate(target, (notify as *const ()).addr(), edge)
}

/// The same for a function that looks at the second argument.
///
/// # Errors
/// As above.
pub fn observe_second(target: usize, notify: NotifySecond, edge: usize) -> Result<usize, StubError> {
    allocate(target, (notify as *const ()).addr(), edge)
}

fn allocate(target: usize, notify: usize, edge: usize) -> Result<usize, StubError> {
    trampoline::allocate(arch::observer, Box::leak(Box::new(Observer { notify, edge, target })))
}
