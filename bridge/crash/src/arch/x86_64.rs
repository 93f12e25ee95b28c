//! x86-64.
#![expect(unsafe_code, reason = "reads registers")]

use core::ffi::c_int;

use libc::ucontext_t;
use qmpi_ring::arch::registers::COUNT;

/// The size of a page.
pub(crate) const PAGE: usize = 4096;
/// What the kernel needs below the stack pointer for a handler, at least: the red zone and a frame with the state of the processor.
pub(crate) const FRAME: u64 = 128 + 4096;
/// Flags of a signal's action that glibc sets itself, and shows: SA_RESTORER of the kernel.
pub(crate) const SHOWN: c_int = 0x0400_0000;

/// The places in `uc_mcontext.gregs` (sys/ucontext.h) of the registers as DWARF numbers them.
const PLACES: [c_int; COUNT] = [
    libc::REG_RAX,
    libc::REG_RDX,
    libc::REG_RCX,
    libc::REG_RBX,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_RBP,
    libc::REG_RSP,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
    libc::REG_RIP,
];

/// The registers of an interrupted thread.
pub(crate) fn in_context(context: &ucontext_t) -> [u64; COUNT] {
    PLACES.map(|place| context.uc_mcontext.gregs.get(place as usize).map_or(0, |value| *value as u64))
}

/// The registers of this thread, as far as a caller is found by them: in the frame of the function that asks, which goes on.
#[inline(always)]
pub(crate) fn here() -> [u64; COUNT] {
    let mut registers = [0; COUNT];
    // SAFETY: writes to an array of this function's.
    unsafe {
        core::arch::asm!(
            "mov [{place} + 8 * 3], rbx",
            "mov [{place} + 8 * 6], rbp",
            "mov [{place} + 8 * 7], rsp",
            "mov [{place} + 8 * 12], r12",
            "mov [{place} + 8 * 13], r13",
            "mov [{place} + 8 * 14], r14",
            "mov [{place} + 8 * 15], r15",
            "lea {scratch}, [rip]",
            "mov [{place} + 8 * 16], {scratch}",
            place = in(reg) registers.as_mut_ptr(),
            scratch = out(reg) _,
            options(nostack, preserves_flags)
        );
    }
    registers
}
