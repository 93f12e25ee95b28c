//! The exported `QMPI_*` functions: the MPI library's own, as QMPI tools call them.
#![expect(unsafe_code, reason = "exports unmangled symbols")]
#![allow(non_snake_case, unreachable_pub, reason = "MPI's names; they are reached by name from other objects")]

pub(crate) mod list;

use core::sync::atomic::{AtomicUsize, Ordering};

use qmpi_abi::{COUNT, FnId};

use crate::core_library;
use crate::references::mpi_with_qmpi;

/// Where each goes; 0 before the first call.
pub(crate) static FUNCTIONS: [AtomicUsize; COUNT] = [const { AtomicUsize::new(0) }; COUNT];

/// Where the name-shifted function number `id` goes.
pub(crate) extern "C" fn resolve(id: usize) -> usize {
    let of_mpi = FnId::from_index(id).and_then(mpi_with_qmpi::shifted);
    let address = of_mpi.unwrap_or_else(|| (core_library::functions().shifted)(id));
    if let Some(place) = FUNCTIONS.get(id) {
        place.store(address, Ordering::Release);
    }
    address
}

/// Defines one stub per row; the count of arguments is the core's business.
macro_rules! define {
    ($($id:literal $name:ident $args:tt;)*) => { $(
        /// Goes on with the number of the function.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        #[unsafe(link_section = "qmpi_shifted")]
        pub extern "C" fn $name() {
            core::arch::naked_asm!(qmpi_ring::assembly!("shifted_stub"), id = const $id)
        }
    )* };
}
pub(crate) use define;
