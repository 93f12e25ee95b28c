//! Stubs in front of functions of the MPI library that start or complete requests: what they are for is in [`crate::requests`].
//!
//! As long as there is nothing to watch for they are a jump. Otherwise the function is called from a frame, with CFI:
//!
//! ```text
//! rbp+16  the caller's stack arguments
//! rbp+8   return address
//! rbp     saved rbp
//! rbp-80  Watched: rdi rsi rdx rcx r8 r9, what the two functions of Rust tell each other, the payload, the result
//! rsp     copy of the stack arguments
//! ```

use std::arch::naked_asm;
use std::mem::offset_of;

use crate::requests::{ACTIVE, COUNT, Watch, Watched, after_completion, after_start, before_completion};

const _: () = assert!(size_of::<Watched>() == 80);

/// Makes the frame, with the payload in it.
macro_rules! enter {
    () => {
        "
        push rbp
        .cfi_def_cfa_offset 16
        .cfi_offset rbp, -16
        mov rbp, rsp
        .cfi_def_cfa_register rbp
        sub rsp, 80
        mov [rbp - 80], rdi
        mov [rbp - 72], rsi
        mov [rbp - 64], rdx
        mov [rbp - 56], rcx
        mov [rbp - 48], r8
        mov [rbp - 40], r9
        mov [rbp - 24], r11
        "
    };
}

/// Calls the function with the arguments, and stores its result.
macro_rules! call {
    () => {
        "
        mov r11, [rbp - 24]
        mov rcx, qword ptr [r11 + {words}]
        lea rax, [rcx + 1]
        and rax, -2
        shl rax, 3
        sub rsp, rax
        test rcx, rcx
        jz 4f
        3:
        mov rax, [rbp + 8 + 8 * rcx]
        mov [rsp - 8 + 8 * rcx], rax
        dec rcx
        jnz 3b
        4:
        mov rdi, [rbp - 80]
        mov rsi, [rbp - 72]
        mov rdx, [rbp - 64]
        mov rcx, [rbp - 56]
        mov r8, [rbp - 48]
        mov r9, [rbp - 40]
        call qword ptr [r11 + {target}]
        mov [rbp - 16], rax
        "
    };
}

/// Returns the result.
macro_rules! leave {
    () => {
        "
        mov rax, [rbp - 16]
        leave
        .cfi_def_cfa rsp, 8
        ret
        "
    };
}

/// A function that stores a new request ([`Watch`]): watched from the moment when a layer was off for the first time.
#[unsafe(naked)]
pub(crate) extern "C" fn watch_start() {
    naked_asm!(
        ".cfi_startproc",
        "mov r10, qword ptr [rip + {active}]",
        "cmp dword ptr [r10], 0",
        "jne 2f",
        "jmp qword ptr [r11 + {target}]",
        "2:",
        enter!(),
        call!(),
        "lea rdi, [rbp - 80]",
        "call {after}",
        leave!(),
        ".cfi_endproc",
        active = sym ACTIVE,
        words = const offset_of!(Watch, words),
        target = const offset_of!(Watch, target),
        after = sym after_start,
    )
}

/// A function that completes requests: watched as long as there are some that were started past a layer.
#[unsafe(naked)]
pub(crate) extern "C" fn watch_completion() {
    naked_asm!(
        ".cfi_startproc",
        "cmp qword ptr [rip + {count}], 0",
        "jne 2f",
        "jmp qword ptr [r11 + {target}]",
        "2:",
        enter!(),
        "lea rdi, [rbp - 80]",
        "call {before}",
        call!(),
        "lea rdi, [rbp - 80]",
        "call {after}",
        leave!(),
        ".cfi_endproc",
        count = sym COUNT,
        words = const offset_of!(Watch, words),
        target = const offset_of!(Watch, target),
        before = sym before_completion,
        after = sym after_completion,
    )
}

/// The layers that the call which starts a request went past, in this thread.
pub(crate) fn past() -> u64 {
    #![expect(unsafe_code, reason = "a thread-local word")]
    let offset = crate::thread_offsets::PAST.load(std::sync::atomic::Ordering::Relaxed);
    let value;
    // SAFETY: a word of the thread's own, of the library that is in the process from the start.
    unsafe {
        std::arch::asm!("mov {}, fs:[{}]", out(reg) value, in(reg) offset, options(nostack, preserves_flags, readonly))
    };
    value
}
