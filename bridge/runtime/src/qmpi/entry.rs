//! The exported `QMPI_*` functions: the MPI library's own, as QMPI tools call them.
#![expect(unsafe_code, reason = "exports unmangled symbols")]
#![allow(non_snake_case, unreachable_pub, reason = "MPI's names; they are reached by name from other objects")]

#[path = "list.rs"]
mod list;

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use qmpi_abi::FnId;

use crate::arch;
use crate::entry::FUNCTIONS;

/// Where each goes; at first to a lazy stub.
pub(crate) static SLOTS: [AtomicPtr<()>; FUNCTIONS] = {
    let mut slots = [const { AtomicPtr::new(null_mut()) }; FUNCTIONS];
    let mut id = 0;
    while id < FUNCTIONS {
        slots[id] = AtomicPtr::new(arch::lazy(FUNCTIONS + id));
        id += 1;
    }
    slots
};

/// Where the name-shifted function goes, made when somebody first calls it or asks for it.
pub(crate) fn resolve(id: FnId, make: impl FnOnce() -> Option<usize>) -> Option<usize> {
    let slot = SLOTS[id.index()].load(Ordering::Acquire);
    if slot != arch::lazy(FUNCTIONS + id.index()) {
        return Some(slot.addr());
    }
    let address = make()?;
    SLOTS[id.index()].store(std::ptr::with_exposed_provenance_mut(address), Ordering::Release);
    Some(address)
}

/// Defines one stub per row.
macro_rules! entries {
    ($($id:literal $name:ident $args:tt;)*) => {
        $( $crate::arch::entry_stub!($crate::qmpi::entry::SLOTS, $id $name); )*
    };
}
pub(crate) use entries;
