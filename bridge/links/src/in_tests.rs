//! Machine code that unit tests are made of.
#![expect(unsafe_code, reason = "machine code")]

use std::sync::atomic::AtomicUsize;

use crate::arch::machine_code;

/// Where [`qmpi_test_jump`] goes.
pub(crate) static LINK: AtomicUsize = AtomicUsize::new(0);

machine_code!(["in_tests"], { link = sym LINK });

unsafe extern "C" {
    /// Returns the payload of its trampoline.
    pub(crate) fn qmpi_test_payload();
    /// Jumps to where [`LINK`] points.
    pub(crate) fn qmpi_test_jump();
    /// Calls `link` with the words 0, 1, ... in registers and the stack pointer `stack`.
    pub(crate) fn qmpi_test_call_on(stack: *mut usize, link: usize);
}
