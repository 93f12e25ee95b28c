//! C callbacks that carry a word of data, for interfaces that pass none.

use std::ffi::c_int;

use crate::arch;
use crate::error::StubError;
use crate::trampoline;

/// A callback and what it is given.
#[repr(C)]
pub(crate) struct WithData {
    pub(crate) function: usize,
    pub(crate) data: usize,
}

/// Makes a function `void f(int)` that calls `function` with its argument and `data`; returns its address.
///
/// # Errors
/// When no further stubs can be mapped.
pub fn with_data<T: Sync>(function: extern "C" fn(c_int, &'static T), data: &'static T) -> Result<usize, StubError> {
    let payload = WithData { function: function as usize, data: std::ptr::from_ref(data).addr() };
    trampoline::allocate(arch::with_data, Box::leak(Box::new(payload)))
}
