//! C callbacks that carry a word of data, for interfaces that pass none.

use std::ffi::{c_char, c_int};

use crate::arch;
use crate::error::LoadError;
use crate::links::trampoline;

/// A callback and what it is given.
#[repr(C)]
pub(crate) struct WithData {
    pub(crate) function: usize,
    pub(crate) data: usize,
}

/// A constructor with a word of data.
pub(crate) type Constructor<T> = extern "C" fn(c_int, *const *const c_char, *const *const c_char, &'static T);

/// Makes a constructor, called as `ld.so` calls those of objects, that calls `function` with its arguments and `data`; returns its address.
///
/// # Errors
/// When no further stubs can be mapped.
pub(crate) fn constructor<T: Sync>(function: Constructor<T>, data: &'static T) -> Result<usize, LoadError> {
    let payload = WithData { function: function as usize, data: std::ptr::from_ref(data).addr() };
    trampoline::allocate(arch::constructor_with_data, Box::leak(Box::new(payload)))
}

/// Makes a function `void f(int)` that calls `function` with its argument and `data`; returns its address.
///
/// # Errors
/// When no further stubs can be mapped.
pub fn with_data<T: Sync>(function: extern "C" fn(c_int, &'static T), data: &'static T) -> Result<usize, LoadError> {
    let payload = WithData { function: function as usize, data: std::ptr::from_ref(data).addr() };
    trampoline::allocate(arch::with_data, Box::leak(Box::new(payload)))
}
