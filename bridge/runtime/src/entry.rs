//! The exported `MPI_*` functions, and the slots through which they jump.
//!
//! Nothing here runs on a call but one jump. Slots are written at start-up and never again.
#![expect(unsafe_code, reason = "exports unmangled symbols")]
#![allow(non_snake_case, unreachable_pub, reason = "MPI's names; they are reached by name from other objects")]

mod list;

use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use qmpi_abi::FnId;
use qmpi_loader::image::Image;

use crate::arch;

/// How many functions there are.
pub(crate) const FUNCTIONS: usize = qmpi_abi::COUNT;

/// Where each function's call goes; at first to its lazy stub.
pub(crate) static SLOTS: [AtomicPtr<()>; FUNCTIONS] = {
    let mut slots = [const { AtomicPtr::new(null_mut()) }; FUNCTIONS];
    let mut id = 0;
    while id < FUNCTIONS {
        slots[id] = AtomicPtr::new(arch::lazy(id));
        id += 1;
    }
    slots
};

/// Sends the application's calls of `id` to `address`.
pub(crate) fn set(id: FnId, address: usize) {
    SLOTS[id.index()].store(std::ptr::with_exposed_provenance_mut(address), Ordering::Release);
}

/// Where the application's calls of `id` go, unless that is still the lazy stub.
pub(crate) fn get(id: FnId) -> Option<usize> {
    let slot = SLOTS[id.index()].load(Ordering::Acquire);
    (slot != arch::lazy(id.index())).then(|| slot.addr())
}

/// The function of an unshifted name; most names are told apart by their first letters.
pub(crate) fn plain_id(name: &CStr) -> Option<FnId> {
    let shape = name.to_bytes().starts_with(b"MPI") || name.to_bytes().starts_with(b"OMPI_");
    shape.then(|| FnId::by_name(name.to_str().ok()?)).flatten()
}

/// The function of a `PMPI_f` of C.
pub(crate) fn profiling_id(name: &CStr) -> Option<FnId> {
    if !name.to_bytes().starts_with(b"PMPI") {
        return None;
    }
    qmpi_abi::classify_c(name).filter(|symbol| symbol.profiling)?.c_function()
}

/// An address in this library.
pub(crate) fn own_address() -> usize {
    (set as *const ()).addr()
}

/// Is it this library?
pub(crate) fn is_ours(image: &Image) -> bool {
    image.contains(own_address())
}

/// Defines one entry stub per row.
macro_rules! entries {
    ($($id:literal $name:ident;)*) => {
        $( $crate::arch::entry_stub!($crate::entry::SLOTS, $id $name); )*
    };
}
pub(crate) use entries;
