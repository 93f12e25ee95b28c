//! Links of the chain that do something on the way: tell, deliver twice, report a missing function.

use std::arch::naked_asm;

use super::stack_words::{copy_words, copy_words_across_pages};

/// A call of something that did not exist when the tool was loaded; the payload says what.
#[unsafe(naked)]
pub(crate) extern "C" fn missing() {
    naked_asm!(
        ".cfi_startproc",
        qmpi_ring::keep_arguments!(),
        "mov rdi, r11",
        "call {destination}",
        qmpi_ring::go_on_with_arguments!(),
        ".cfi_endproc",
        destination = sym crate::missing::destination,
    )
}

/// A call that a [`crate::observer::Observer`] is told of before it goes on, with all its arguments.
#[unsafe(naked)]
pub(crate) extern "C" fn observer() {
    naked_asm!(
        ".cfi_startproc",
        qmpi_ring::keep_arguments!(),
        // A word of the frame that no argument needs.
        "mov [rsp + 56], r11",
        "mov rdi, qword ptr [r11 + {edge}]",
        "call qword ptr [r11 + {notify}]",
        "mov r11, [rsp + 56]",
        "mov rax, qword ptr [r11 + {target}]",
        qmpi_ring::go_on_with_arguments!(),
        ".cfi_endproc",
        edge = const std::mem::offset_of!(crate::observer::Observer, edge),
        notify = const std::mem::offset_of!(crate::observer::Observer, notify),
        target = const std::mem::offset_of!(crate::observer::Observer, target),
    )
}

/// `MPI_Pcontrol(level, ...)` of a tool that does not pass it on: calls the tool, then goes on to the next link.
///
/// The function is variadic, so its arguments are unknown: all that can hold one is kept, six registers, eight
/// vector registers (psABI 3.5.7; `al` counts them) and twelve words of the stack, as far as they can be read (`stack_words.rs`).
///
/// ```text
/// rbp+16  the caller's stack arguments      rsp+160  xmm0..xmm7
/// rbp+8   return address                    rsp+96   rdi rsi rdx rcx r8 r9 rax r11
/// rbp     saved rbp                         rsp      copy of twelve stack words
/// ```
#[unsafe(naked)]
pub(crate) extern "C" fn pcontrol() {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "sub rsp, 288",
        "mov [rsp + 96], rdi",
        "mov [rsp + 104], rsi",
        "mov [rsp + 112], rdx",
        "mov [rsp + 120], rcx",
        "mov [rsp + 128], r8",
        "mov [rsp + 136], r9",
        "mov [rsp + 144], rax",
        "mov [rsp + 152], r11",
        "movups [rsp + 160], xmm0",
        "movups [rsp + 176], xmm1",
        "movups [rsp + 192], xmm2",
        "movups [rsp + 208], xmm3",
        "movups [rsp + 224], xmm4",
        "movups [rsp + 240], xmm5",
        "movups [rsp + 256], xmm6",
        "movups [rsp + 272], xmm7",
        copy_words!(12 from 304),
        "call qword ptr [r11 + {tool}]",
        "movups xmm0, [rsp + 160]",
        "movups xmm1, [rsp + 176]",
        "movups xmm2, [rsp + 192]",
        "movups xmm3, [rsp + 208]",
        "movups xmm4, [rsp + 224]",
        "movups xmm5, [rsp + 240]",
        "movups xmm6, [rsp + 256]",
        "movups xmm7, [rsp + 272]",
        "mov rdi, [rsp + 96]",
        "mov rsi, [rsp + 104]",
        "mov rdx, [rsp + 112]",
        "mov rcx, [rsp + 120]",
        "mov r8, [rsp + 128]",
        "mov r9, [rsp + 136]",
        "mov rax, [rsp + 144]",
        "mov r11, [rsp + 152]",
        "leave",
        ".cfi_def_cfa rsp, 8",
        "jmp qword ptr [r11 + {next}]",
        copy_words_across_pages!(12 from 304),
        ".cfi_endproc",
        tool = const std::mem::offset_of!(crate::pcontrol::Delivery, tool),
        next = const std::mem::offset_of!(crate::pcontrol::Delivery, next),
    )
}

/// A callback with one argument of its own, and one from the payload ([`crate::callback::WithData`]).
#[unsafe(naked)]
pub(crate) extern "C" fn with_data() {
    naked_asm!(
        ".cfi_startproc",
        "mov rsi, qword ptr [r11 + {data}]",
        "jmp qword ptr [r11 + {function}]",
        ".cfi_endproc",
        data = const std::mem::offset_of!(crate::callback::WithData, data),
        function = const std::mem::offset_of!(crate::callback::WithData, function),
    )
}
