//! The QMPI functions that this tool calls: public ones, of whichever library has them.
#![expect(unsafe_code, reason = "C functions of the MPI library")]

use std::ffi::{CStr, c_char, c_int, c_void};

/// A C function of unknown type.
type Function = unsafe extern "C" fn();

unsafe extern "C" {
    fn QMPI_Register_tool_name(name: *const c_char, init: extern "C" fn(c_int)) -> c_int;
    fn QMPI_Register_tool_storage(tool: c_int, storage: *mut c_void) -> c_int;
    fn QMPI_Register_function(tool: c_int, function: c_int, address: Function) -> c_int;
    fn QMPI_Get_function(tool: c_int, function: c_int, address: *mut usize, next: *mut c_int) -> c_int;
}

const MPI_SUCCESS: c_int = 0;

/// Registers a name; `init` must be code of this type, at this address.
pub(crate) fn register_tool_name(name: &CStr, init: usize) -> bool {
    // SAFETY: the caller made the code at `init` for this purpose.
    let init = unsafe { std::mem::transmute::<usize, extern "C" fn(c_int)>(init) };
    // SAFETY: a C string, and a function that stays.
    unsafe { QMPI_Register_tool_name(name.as_ptr(), init) == MPI_SUCCESS }
}

/// Some implementations want every tool to have storage.
pub(crate) fn register_tool_storage<T: Sync>(tool: c_int, storage: &'static T) -> bool {
    let storage = std::ptr::from_ref(storage).cast_mut().cast();
    // SAFETY: only its address is kept.
    unsafe { QMPI_Register_tool_storage(tool, storage) == MPI_SUCCESS }
}

/// Registers the code at `address` for the function that `number` stands for.
pub(crate) fn register_function(tool: c_int, number: c_int, address: usize) -> bool {
    // SAFETY: the caller made the code at `address` for this purpose.
    let address = unsafe { std::mem::transmute::<usize, Function>(address) };
    // SAFETY: a function that stays.
    unsafe { QMPI_Register_function(tool, number, address) == MPI_SUCCESS }
}

/// What comes next for the function that `number` stands for, and the id to pass.
pub(crate) fn next_function(tool: c_int, number: c_int) -> Option<(usize, c_int)> {
    let (mut address, mut next) = (0, 0);
    // SAFETY: both are variables of the right size.
    let result = unsafe { QMPI_Get_function(tool, number, &raw mut address, &raw mut next) };
    (result == MPI_SUCCESS && address != 0).then_some((address, next))
}
