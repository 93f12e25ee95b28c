//! A link that reports each call before it goes on: how far `MPI_Finalize` comes, and that MPI is about to be initialized.
#![expect(unsafe_code, reason = "machine code")]

use std::mem::offset_of;

use crate::arch::machine_code;
use crate::trampoline;

/// Called with the number of the edge, and the second of the call's arguments, as a register holds it.
pub type Notify = extern "C" fn(usize, usize);

/// The function that a call is reported to, and the link behind it.
#[repr(C)]
struct Observer {
    /// When it is called, registers have the call's arguments but for the first.
    notify: Notify,
    edge: usize,
    target: usize,
}

machine_code!(["observer"], {
    edge = const offset_of!(Observer, edge),
    notify = const offset_of!(Observer, notify),
    target = const offset_of!(Observer, target),
});

unsafe extern "C" {
    /// The payload is an [`Observer`].
    fn qmpi_observer();
}

/// Makes a link that calls `notify` and jumps to `target`, whose caller and arguments stay as they are.
pub fn observe(target: usize, notify: Notify, edge: usize) -> usize {
    trampoline::allocate(qmpi_observer, Box::leak(Box::new(Observer { notify, edge, target })))
}
