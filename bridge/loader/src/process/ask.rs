//! Calls of the MPI library that no tool sees.
#![expect(unsafe_code, reason = "calls functions of the MPI library by their addresses")]

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use qmpi_abi::FnId;
use qmpi_abi::constants::Constant;

use crate::process::Process;

impl Process {
    /// What the MPI library's function `MPI_f` of up to two pointers returns; `None` where it has none. For functions that may be called
    /// before `MPI_Init` and from any thread (MPI 4.1 section 11.4.1).
    ///
    /// Where the MPI library has QMPI itself that is its `QMPI_f`: a call of `PMPI_f` initializes the tools of its own chain, for which it may
    /// be too early.
    pub fn ask(&self, function: &str, [first, second]: [*mut c_void; 2]) -> Option<c_int> {
        type Plain = extern "C" fn(*mut c_void, *mut c_void) -> c_int;
        // A struct of one pointer, the context, is passed as the pointer is.
        type Shifted = extern "C" fn(*mut c_void, c_int, *mut c_void, *mut c_void) -> c_int;
        if let Some(address) = self.function(format!("Q{function}").as_str()) {
            // SAFETY: the MPI library's function of this name takes two words more than the plain one, which takes two pointers at most; what
            // is passed beyond is not looked at (psABI 3.2.3).
            let shifted = unsafe { std::mem::transmute::<usize, Shifted>(address) };
            return Some(shifted(null_mut(), 0, first, second));
        }
        let address = self.real(FnId::by_name(function)?)?;
        // SAFETY: the MPI library's function of this name takes two pointers at most; what is passed beyond is not looked at (psABI 3.2.3).
        let plain = unsafe { std::mem::transmute::<usize, Plain>(address) };
        Some(plain(first, second))
    }

    /// The numbers that constants of these names are in the MPI library's `mpi.h`.
    pub fn constants<const N: usize>(&self, names: [&str; N]) -> [Option<i32>; N] {
        self.family().map_or([None; N], |family| Constant::numbers(names, family))
    }
}
