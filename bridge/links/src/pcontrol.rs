//! `MPI_Pcontrol` reaches every tool, as the 2018 thesis has it, although PMPI tools seldom pass it on.
//!
//! The rule: after an instance that defines `MPI_Pcontrol` and has no way to `PMPI_Pcontrol`, the chain goes on by
//! itself, for its Fortran wrapper as well as for that of C. One that has a way is trusted to use it.

use crate::arch;
use crate::error::StubError;
use crate::trampoline;

/// A call of one tool's `MPI_Pcontrol`, followed by the next link's.
#[repr(C)]
pub(crate) struct Delivery {
    pub(crate) tool: usize,
    pub(crate) next: usize,
}

/// Makes the link that calls `tool`, then `next`, with the same arguments.
///
/// # Errors
/// When no further stubs can be mapped.
pub fn deliver_to_both(tool: usize, next: usize) -> Result<usize, StubError> {
    trampoline::allocate(arch::pcontrol, Box::leak(Box::new(Delivery { tool, next })))
}
