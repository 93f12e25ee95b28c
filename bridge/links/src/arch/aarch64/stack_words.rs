//! Assembler text that copies words which may be arguments from the caller's stack, as many as can be read.
//!
//! Where the number of a call's arguments is unknown (variadic functions, Fortran), a stub that makes a frame copies as many words as
//! any call passes. The caller may have passed fewer, and its stack may end right there: the stack of a coroutine has a guard page
//! above. Words in the page that holds the stub's own frame can be read for sure. Where the block leaves that page, the kernel
//! is asked whether the next one can be read: `rt_sigprocmask` copies the new mask from user space before it looks at `how`, so an
//! invalid `how` changes nothing and the error is EFAULT or EINVAL (Linux: kernel/signal.c). It is async-signal-safe.
//!
//! | register | |
//! |---|---|
//! | `x9`-`x16`, the flags | used |
//! | all others | kept |
#![expect(unsafe_code, reason = "machine code")]
use std::arch::global_asm;

/// Text that copies `$words` words from `x29 + $from`, the caller's stack pointer, to `sp`. `x29` is a frame of the stub's, with `x30` in it.
macro_rules! copy_words {
    ($words:literal from $from:literal) => {
        concat!(
            "
            add x16, x29, ",
            $from,
            "
            mov x15, sp
            mov x14, ",
            $words,
            "
            bl qmpi_copy_readable
            "
        )
    };
}
pub(super) use copy_words;

global_asm!(
    ".pushsection .text.qmpi_copy_readable, \"ax\", @progbits",
    ".balign 16",
    ".hidden qmpi_copy_readable",
    ".globl qmpi_copy_readable",
    ".type qmpi_copy_readable, @function",
    // Copies x14 words from x16 to x15.
    "qmpi_copy_readable:",
    ".cfi_startproc",
    // The page that the byte before the first word lies in, and the last byte.
    "sub x9, x16, 1",
    "orr x9, x9, {smallest_page} - 1",
    "add x10, x16, x14, lsl 3",
    "sub x10, x10, 1",
    "cmp x10, x9",
    "b.ls 3f",
    // The kernel keeps all registers but x0.
    "mov x10, x0",
    "mov x11, x1",
    "mov x12, x2",
    "mov x13, x3",
    "mov x0, -1",
    "add x1, x9, 1",
    "mov x2, xzr",
    "mov x3, {kernel_sigset_size}",
    "mov x9, x8",
    "mov x8, {rt_sigprocmask}",
    "svc 0",
    "mov x8, x9",
    "cmn x0, {efault}",
    "b.ne 2f",
    "sub x14, x1, x16",
    "lsr x14, x14, 3",
    "2:",
    "mov x0, x10",
    "mov x1, x11",
    "mov x2, x12",
    "mov x3, x13",
    "3:",
    "cbz x14, 4f",
    "ldr x9, [x16], 8",
    "str x9, [x15], 8",
    "sub x14, x14, 1",
    "b 3b",
    "4:",
    "ret",
    ".cfi_endproc",
    ".size qmpi_copy_readable, . - qmpi_copy_readable",
    ".popsection",
    smallest_page = const super::SMALLEST_PAGE,
    rt_sigprocmask = const libc::SYS_rt_sigprocmask,
    kernel_sigset_size = const 8,
    efault = const libc::EFAULT,
);

#[cfg(test)]
/// Calls `link` with the words 0 to 7 in registers and the stack pointer `stack`.
#[unsafe(naked)]
unsafe extern "C" fn call_on(stack: *mut usize, link: usize) {
    std::arch::naked_asm!(
        "stp x29, x30, [sp, -16]!",
        "mov x29, sp",
        "mov sp, x0",
        "mov x16, x1",
        "mov x0, 0",
        "mov x1, 1",
        "mov x2, 2",
        "mov x3, 3",
        "mov x4, 4",
        "mov x5, 5",
        "mov x6, 6",
        "mov x7, 7",
        "blr x16",
        "mov sp, x29",
        "ldp x29, x30, [sp], 16",
        "ret",
    )
}

#[cfg(test)]
#[path = "../stack_words_tests.rs"]
mod tests;
