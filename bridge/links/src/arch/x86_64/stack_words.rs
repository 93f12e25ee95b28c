//! Assembler text that copies words which may be arguments from above the caller's return address, as many as can be read.
//!
//! Where the number of a call's arguments is unknown (variadic functions, Fortran), a stub that makes a frame copies as many words as
//! any call passes. The caller may have passed fewer, and its stack may end right above them: the stack of a coroutine has a guard page
//! there. Words in the page that holds the return address can be read for sure. Where the block leaves that page, the kernel
//! is asked whether the next one can be read: `rt_sigprocmask` copies the new mask from user space before it looks at `how`, so an
//! invalid `how` changes nothing and the error is EFAULT or EINVAL (Linux: kernel/signal.c). It is async-signal-safe.
//!
//! | register | |
//! |---|---|
//! | `r10` | used |
//! | all others, the flags excepted | kept |
#![expect(unsafe_code, reason = "machine code")]
use std::arch::global_asm;

/// Text that copies `$words` words from `rsp + $from`, directly above a return address, to `rsp`. One such text in a function, and
/// [`copy_words_across_pages`] with the same numbers behind its end.
macro_rules! copy_words {
    ($words:literal from $from:literal) => {
        concat!(
            "
            lea r10, [rsp + ",
            $from,
            " - 8]
            and r10d, 4095
            cmp r10d, 4096 - 8 - 8 * ",
            $words,
            "
            ja 18f
            .cfi_remember_state
            .set .Lqmpi_k, 0
            .rept ",
            $words,
            "
            mov r10, qword ptr [rsp + ",
            $from,
            " + 8 * .Lqmpi_k]
            mov qword ptr [rsp + 8 * .Lqmpi_k], r10
            .set .Lqmpi_k, .Lqmpi_k + 1
            .endr
            19:
            "
        )
    };
}

/// Text for the case that the words do not end in the page of the return address.
macro_rules! copy_words_across_pages {
    ($words:literal from $from:literal) => {
        concat!(
            "
            .cfi_restore_state
            18:
            lea r10, [rsp + ",
            $from,
            "]
            call qmpi_copy_readable_",
            $words,
            "
            jmp 19b
            "
        )
    };
}
pub(super) use {copy_words, copy_words_across_pages};

global_asm!(
    // Copies words from r10 to where the stack pointer was before the call.
    //
    //     rsp+72  the words' place
    //     rsp+64  return address
    //     rsp+56  how many words
    //     rsp     rsi rdi rdx rcx rax r11 r10
    ".macro qmpi_copy_readable words",
    ".balign 16",
    ".hidden qmpi_copy_readable_\\words",
    ".globl qmpi_copy_readable_\\words",
    "qmpi_copy_readable_\\words:",
    ".cfi_startproc",
    "push \\words",
    ".cfi_adjust_cfa_offset 8",
    ".irp register, r10, r11, rax, rcx, rdx, rdi, rsi",
    "push \\register",
    ".cfi_adjust_cfa_offset 8",
    ".endr",
    // The page behind that of the return address, whose last byte lies before the first word.
    "lea rsi, [r10 - 1]",
    "or rsi, 4095",
    "inc rsi",
    "mov eax, {rt_sigprocmask}",
    "mov rdi, -1",
    "xor edx, edx",
    "mov r10d, {kernel_sigset_size}",
    "syscall",
    "mov r10, qword ptr [rsp + 48]",
    "mov ecx, dword ptr [rsp + 56]",
    "cmp rax, -{efault}",
    "jne 2f",
    "mov rcx, rsi",
    "sub rcx, r10",
    "shr rcx, 3",
    "2:",
    "mov rsi, r10",
    "lea rdi, [rsp + 72]",
    "rep movsq",
    ".irp register, rsi, rdi, rdx, rcx, rax, r11, r10",
    "pop \\register",
    ".cfi_adjust_cfa_offset -8",
    ".endr",
    "add rsp, 8",
    ".cfi_adjust_cfa_offset -8",
    "ret",
    ".cfi_endproc",
    ".endm",
    ".pushsection .text.qmpi_plan_words, \"ax\", @progbits",
    "qmpi_copy_readable 12",
    "qmpi_copy_readable 14",
    "qmpi_copy_readable 18",
    ".popsection",
    rt_sigprocmask = const libc::SYS_rt_sigprocmask,
    kernel_sigset_size = const 8,
    efault = const libc::EFAULT,
);

#[cfg(test)]
/// Calls `link` with the words 0 to 5 in registers and the stack pointer `stack`.
#[unsafe(naked)]
unsafe extern "C" fn call_on(stack: *mut usize, link: usize) {
    std::arch::naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "mov rsp, rdi",
        "mov r11, rsi",
        "xor edi, edi",
        "mov esi, 1",
        "mov edx, 2",
        "mov ecx, 3",
        "mov r8d, 4",
        "mov r9d, 5",
        "xor eax, eax",
        "call r11",
        "mov rsp, rbp",
        "pop rbp",
        "ret",
    )
}

#[cfg(test)]
#[path = "../stack_words_tests.rs"]
mod tests;
