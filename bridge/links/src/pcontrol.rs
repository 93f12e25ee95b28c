//! `MPI_Pcontrol` reaches every tool, as the 2018 thesis has it, although PMPI tools seldom pass it on.
//!
//! The rule: after an instance that defines `MPI_Pcontrol` and has no way to `PMPI_Pcontrol`, the chain goes on by
//! itself, for its Fortran wrapper as well as for that of C. One that has a way is trusted to use it.
//!
//! The function is variadic, so its arguments are unknown: the stub keeps all that can hold one, registers, vector registers and twelve words of
//! the stack, as far as they can be read (`stack_words.rs`).
#![expect(unsafe_code, reason = "machine code")]

use std::mem::offset_of;

use crate::arch::machine_code;
use crate::trampoline;

/// A call of one tool's `MPI_Pcontrol`, followed by the next link's.
#[repr(C)]
struct Delivery {
    tool: usize,
    next: usize,
}

machine_code!(["pcontrol"], { tool = const offset_of!(Delivery, tool), next = const offset_of!(Delivery, next) });

unsafe extern "C" {
    /// The payload is a [`Delivery`].
    fn qmpi_pcontrol();
}

/// Makes the link that calls `tool`, then `next`, with the same arguments.
pub fn deliver_to_both(tool: usize, next: usize) -> usize {
    trampoline::allocate(qmpi_pcontrol, Box::leak(Box::new(Delivery { tool, next })))
}
