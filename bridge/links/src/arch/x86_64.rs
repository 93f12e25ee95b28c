//! The numbers and the instructions of x86-64.
//!
//! Stubs are reached through a trampoline:
//!
//! | register | at a stub's entry |
//! |---|---|
//! | `r11` | the trampoline's payload (the psABI lets a linkage stub use it: figure 3.4) |
//! | `rdi rsi rdx rcx r8 r9`, stack, `al`, `xmm0-7` | the arguments, untouched |
//! | `[rsp]` | the return address in the caller, which a tail jump keeps |
//!
//! Every function carries its own CFI, so that a back trace and a signal-driven profiler find the way through.
#![expect(unsafe_code, reason = "single instructions")]

use crate::arch::can_be_read;

/// Bytes of a page.
pub(crate) const PAGE: usize = 4096;

/// Words that are passed in registers (psABI 3.2.3).
pub(crate) const ARGUMENT_REGISTERS: usize = 6;

/// Bytes of a lazy link's first jump.
pub(crate) const LAZY_JUMP: usize = 6;

/// Bytes of the code of a switch.
pub(crate) const SWITCH_SIZE: usize = 32;

/// Assembles the text of features. Operands as of `global_asm!`: those of all machines, then those of each.
macro_rules! machine_code {
    ($features:tt, { $($operands:tt)* } $(, x86_64 { $($own:tt)* })? $(, aarch64 $other:tt)?) => {
        $crate::arch::assemble!($features, { $($operands)* $($($own)*)? });
    };
}
pub(crate) use machine_code;

/// Says that from here on an address of a stub may be stored where machine code reads it, in threads that run: processors of this kind
/// keep their loads in order, so who sees the address sees the stub.
pub const fn publish_stubs() {}

/// The thread pointer.
pub fn thread_pointer() -> usize {
    let pointer: usize;
    // SAFETY: the thread control block begins with its own address (psABI 3.4.2).
    unsafe { std::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nostack, readonly, preserves_flags)) };
    pointer
}

/// Is a call under way whose return address stood at `place`, seen from here on the stack?
pub(crate) fn is_under_way(place: usize, return_address: usize, stack: usize) -> bool {
    if place < stack || !can_be_read(place, stack) {
        return false;
    }
    // SAFETY: readable memory; a word whatever it holds.
    let word = unsafe { std::ptr::with_exposed_provenance::<usize>(place).read_volatile() };
    word == return_address
}

/// What `rt_sigprocmask` returns for a mask at `address` and a `how` of -1: a system call without `errno`.
pub(crate) fn invalid_sigprocmask(address: usize) -> isize {
    let result: isize;
    // SAFETY: the kernel reads a word, or refuses to; no other memory and no mask is changed.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") libc::SYS_rt_sigprocmask as isize => result,
            in("rdi") -1isize,
            in("rsi") address,
            in("rdx") 0usize,
            in("r10") size_of::<u64>(),
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack, readonly),
        )
    };
    result
}
