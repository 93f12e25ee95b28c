//! The exported `MPI_*` functions, and the slots through which they jump.
//!
//! Nothing here runs on a call but one jump. Slots are written at start-up and never again.
#![expect(unsafe_code, reason = "exports unmangled symbols")]
#![allow(non_snake_case, unreachable_pub, reason = "MPI's names; they are reached by name from other objects")]

mod list;

use core::ffi::CStr;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

use qmpi_abi::{COUNT, FnId};

use crate::arch;
use crate::process::own;

/// Where each function goes. They lead to the lazy stubs before any code of the process can call one: see `arch::fill_slots`.
pub(crate) static SLOTS: [AtomicPtr<()>; COUNT] = [const { AtomicPtr::new(null_mut()) }; COUNT];

/// Leads all functions to their lazy stubs.
pub(crate) extern "C" fn fill_slots() -> usize {
    for (id, slot) in SLOTS.iter().enumerate() {
        slot.store(arch::lazy(id), Ordering::Relaxed);
    }
    // The relocation that has called this function stores an address that nothing uses; null would look like a failure.
    core::ptr::from_ref(&SLOTS).addr()
}

/// The function of an unshifted name that this library exports; most names are told apart by their first letters.
pub(crate) fn by_name(name: &CStr) -> Option<FnId> {
    if may_be_name(name) { at(own::find(name)?) } else { None }
}

/// Are the first letters those of a name of MPI?
pub(crate) fn may_be_name(name: &CStr) -> bool {
    let bytes = name.to_bytes();
    bytes.starts_with(b"MPI") || bytes.starts_with(b"OMPI_")
}

/// The same of the first four letters of a name, which has as many or ends before.
pub(crate) fn may_begin_name(start: [u8; 4]) -> bool {
    start.starts_with(b"MPI") || start == *b"OMPI"
}

/// The function whose entry stub is at `address`.
pub(crate) fn at(address: usize) -> Option<FnId> {
    FnId::from_index(arch::function_at(address, core::ptr::from_ref(&SLOTS).addr())?)
}

/// A program of unit tests exports nothing: the linker would drop the sections of stubs, whose borders are referred to.
#[cfg(test)]
#[used]
static KEPT: [extern "C" fn(); 2] = [list::MPI_Send, crate::exports::shifted::list::QMPI_Send];

/// Defines one entry stub per row.
macro_rules! define {
    ($($id:literal $name:ident;)*) => {
        $( $crate::arch::entry_stub!($crate::exports::functions::SLOTS, $id $name); )*
    };
}
pub(crate) use define;
