//! Fortran calls: at which layer the C functions that MPI's Fortran library calls enter the chain.
//!
//! A word of thread-local storage (`ring/src/arch/thread_storage.s`) says how many layers the call has behind it; 0 outside of such calls. Only tools with
//! Fortran wrappers ever set it.
#![expect(unsafe_code, reason = "machine code behind trampolines")]

use std::arch::global_asm;

use super::stack_words::{copy_words, copy_words_across_pages};
use super::{Stub, stub};
use crate::arch::MAX_ARGS;
use crate::conversion::Arity;

/// What [`fortran_resume`] needs.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Resume {
    /// The Fortran library's function.
    pub(crate) target: usize,
    /// How many layers the call has behind it.
    pub(crate) level: usize,
}

global_asm!(
    // While these frames last, the level is `level`; it is set back afterwards. `frame` bytes are free at the stack pointer, the
    // caller's words begin 24 bytes above them. r10 is used; rax counts no vector registers, Fortran is never variadic.
    ".macro qmpi_enter_level level, frame",
    "push rbp",
    ".cfi_adjust_cfa_offset 8",
    ".cfi_rel_offset rbp, 0",
    "mov rbp, qword ptr [rip + {level_offset}]",
    "push qword ptr fs:[rbp]",
    ".cfi_adjust_cfa_offset 8",
    "mov r10, \\level",
    "mov qword ptr fs:[rbp], r10",
    "sub rsp, \\frame",
    ".cfi_adjust_cfa_offset \\frame",
    ".endm",
    ".macro qmpi_leave_level frame",
    "add rsp, \\frame",
    ".cfi_adjust_cfa_offset -\\frame",
    "pop qword ptr fs:[rbp]",
    ".cfi_adjust_cfa_offset -8",
    "pop rbp",
    ".cfi_adjust_cfa_offset -8",
    ".cfi_restore rbp",
    "ret",
    ".endm",
    // Calls `target` with all arguments. Fortran has no prototypes here: six registers and eighteen words of the stack hold every
    // call of MPI's, hidden lengths of strings included; how many the caller wrote is unknown.
    ".macro qmpi_call_at_level level, target",
    "qmpi_enter_level \\level, 152",
    copy_words!(18 from 176),
    "call \\target",
    "qmpi_leave_level 152",
    copy_words_across_pages!(18 from 176),
    ".endm",
    ".pushsection .text.qmpi_fortran, \"ax\", @progbits",
    // A tool's call of `pmpi_f_`: r11 is the payload.
    ".balign 16",
    ".hidden qmpi_fortran_resume",
    ".globl qmpi_fortran_resume",
    "qmpi_fortran_resume:",
    ".cfi_startproc",
    "mov r10, qword ptr [r11 + {level}]",
    "mov r11, qword ptr [r11 + {target}]",
    "qmpi_call_at_level r10, r11",
    ".cfi_endproc",
    // The Fortran library's call of a C function: r11 is a table of links, one for each level. On the way, the level is 0
    // again: MPI may call the program back, whose calls are new ones. The C function's prototype is known: `n` is how many words of
    // the stack it reads, `v` stands for a variadic one.
    ".macro qmpi_fortran_to_c n",
    ".balign 16",
    "qmpi_fortran_to_c_\\n:",
    ".cfi_startproc",
    "mov r10, qword ptr [rip + {level_offset}]",
    "mov r10, qword ptr fs:[r10]",
    "test r10, r10",
    "jnz 2f",
    "jmp qword ptr [r11]",
    "2:",
    "mov r11, qword ptr [r11 + 8 * r10]",
    ".ifc \\n, v",
    "qmpi_call_at_level 0, r11",
    ".else",
    // Aligned to 16 at the call, with the return address and two words.
    ".set .Lqmpi_frame, 8 * (\\n + (\\n + 1) % 2)",
    "qmpi_enter_level 0, .Lqmpi_frame",
    ".set .Lqmpi_k, 0",
    ".rept \\n",
    "mov r10, qword ptr [rsp + .Lqmpi_frame + 24 + 8 * .Lqmpi_k]",
    "mov qword ptr [rsp + 8 * .Lqmpi_k], r10",
    ".set .Lqmpi_k, .Lqmpi_k + 1",
    ".endr",
    "call r11",
    "qmpi_leave_level .Lqmpi_frame",
    ".endif",
    ".cfi_endproc",
    ".endm",
    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, v",
    "qmpi_fortran_to_c \\n",
    ".endr",
    ".popsection",
    ".pushsection .data.rel.ro.qmpi_fortran, \"aw\", @progbits",
    ".balign 8",
    ".hidden qmpi_fortran_to_c_table",
    ".globl qmpi_fortran_to_c_table",
    "qmpi_fortran_to_c_table:",
    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, v",
    ".quad qmpi_fortran_to_c_\\n",
    ".endr",
    ".popsection",
    level = const std::mem::offset_of!(Resume, level),
    target = const std::mem::offset_of!(Resume, target),
    level_offset = sym crate::thread_offsets::FORTRAN_LEVEL,
);

/// Words in registers (psABI 3.2.3).
const REGISTERS: usize = 6;
/// Words on the stack of the longest C function.
const MOST_WORDS: usize = MAX_ARGS - REGISTERS;

unsafe extern "C" {
    fn qmpi_fortran_resume();
    static qmpi_fortran_to_c_table: [Stub; MOST_WORDS + 2];
}

/// A tool → the Fortran library: see [`Resume`].
pub(crate) fn fortran_resume() -> Stub {
    stub(qmpi_fortran_resume)
}

/// The Fortran library → the chain, by a table of links (the payload) to C functions of this arity.
pub(crate) fn fortran_to_c(arity: Arity) -> Stub {
    let index = match arity {
        Arity::Fixed(count) => usize::from(count).saturating_sub(REGISTERS).min(MOST_WORDS),
        Arity::Variadic => MOST_WORDS + 1,
    };
    // SAFETY: a table of constants.
    unsafe { qmpi_fortran_to_c_table[index] }
}
