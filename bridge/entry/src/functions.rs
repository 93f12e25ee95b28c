//! The exported `MPI_*` functions, and the slots through which they jump.
//!
//! Nothing here runs on a call but one jump. Slots are written at start-up and never again.
#![expect(unsafe_code, reason = "exports unmangled symbols")]
#![allow(non_snake_case, unreachable_pub, reason = "MPI's names; they are reached by name from other objects")]

mod list;

use core::ffi::CStr;
use core::mem::offset_of;

use qmpi_abi::FnId;
use qmpi_ring::Ring;

use crate::ring::RING;
use crate::{arch, own};

/// Where the slots are in [`RING`].
pub(crate) const SLOTS: usize = offset_of!(Ring, slots);

/// The function of an unshifted name that this library exports; most names are told apart by their first letters.
pub(crate) fn by_name(name: &CStr) -> Option<FnId> {
    let bytes = name.to_bytes();
    if !(bytes.starts_with(b"MPI") || bytes.starts_with(b"OMPI_")) {
        return None;
    }
    at(own::find(name)?)
}

/// The function whose entry stub is at `address`.
pub(crate) fn at(address: usize) -> Option<FnId> {
    let slots = core::ptr::from_ref(&RING.slots).addr();
    FnId::from_index(arch::function_at(address, slots)?)
}

/// Defines one entry stub per row.
macro_rules! define {
    ($($id:literal $name:ident;)*) => {
        $( $crate::arch::entry_stub!($crate::ring::RING, $crate::functions::SLOTS, $id $name); )*
    };
}
pub(crate) use define;
