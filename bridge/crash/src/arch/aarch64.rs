//! AArch64.
#![expect(unsafe_code, reason = "reads registers")]

use core::ffi::c_int;

use libc::ucontext_t;
use qmpi_ring::arch::registers::{COUNT, INSTRUCTION, STACK_POINTER};

/// The largest page that Linux has here.
pub(crate) const PAGE: usize = 64 << 10;
/// What the kernel needs below the stack pointer for a handler, at least: a frame with the state of the processor, without SVE's.
pub(crate) const FRAME: u64 = 8192;
/// Flags of a signal's action that glibc sets itself, and shows: none.
pub(crate) const SHOWN: c_int = 0;

/// The registers of an interrupted thread.
pub(crate) fn in_context(context: &ucontext_t) -> [u64; COUNT] {
    let mut registers = [0; COUNT];
    let general = context.uc_mcontext.regs;
    registers.iter_mut().zip(general).for_each(|(register, value)| *register = value);
    registers[STACK_POINTER] = context.uc_mcontext.sp;
    registers[INSTRUCTION] = context.uc_mcontext.pc;
    registers
}

/// The registers of this thread, as far as a caller is found by them: in the frame of the function that asks, which goes on.
#[inline(always)]
pub(crate) fn here() -> [u64; COUNT] {
    let mut registers = [0; COUNT];
    // SAFETY: writes to an array of this function's.
    unsafe {
        core::arch::asm!(
            "stp x19, x20, [{place}, #8 * 19]",
            "stp x21, x22, [{place}, #8 * 21]",
            "stp x23, x24, [{place}, #8 * 23]",
            "stp x25, x26, [{place}, #8 * 25]",
            "stp x27, x28, [{place}, #8 * 27]",
            "stp x29, x30, [{place}, #8 * 29]",
            "mov {scratch}, sp",
            "str {scratch}, [{place}, #8 * 31]",
            "adr {scratch}, .",
            "str {scratch}, [{place}, #8 * 32]",
            place = in(reg) registers.as_mut_ptr(),
            scratch = out(reg) _,
            options(nostack, preserves_flags)
        );
    }
    registers
}
