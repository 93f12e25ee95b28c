//! C callbacks that carry a word of data, for interfaces that pass none.
#![expect(unsafe_code, reason = "machine code")]

use std::ffi::c_int;
use std::mem::offset_of;

use crate::arch::machine_code;
use crate::trampoline;

/// A callback and what it is given.
#[repr(C)]
struct WithData {
    function: usize,
    data: usize,
}

machine_code!(["callback"], { data = const offset_of!(WithData, data), function = const offset_of!(WithData, function) });

unsafe extern "C" {
    /// The payload is a [`WithData`].
    fn qmpi_with_data();
}

/// Makes a function `void f(int)` that calls `function` with its argument and `data`; returns its address.
pub fn with_data<T: Sync>(function: extern "C" fn(c_int, &'static T), data: &'static T) -> usize {
    let payload = WithData { function: function as usize, data: std::ptr::from_ref(data).addr() };
    trampoline::allocate(qmpi_with_data, Box::leak(Box::new(payload)))
}
