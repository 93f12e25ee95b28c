//! Fortran calls: at which layer the C functions that MPI's Fortran library calls enter the chain.
//!
//! A word of thread-local storage (`ring/src/arch/x86_64/thread_storage.rs`) says how many layers the call has behind it; 0 outside of such calls. Only tools with
//! Fortran wrappers ever set it.
#![expect(unsafe_code, reason = "machine code behind trampolines")]

use std::arch::global_asm;

use super::{Stub, stub};

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
    // Calls `target` with all arguments while the level is the one on top of the frame, and sets it back afterwards.
    // Fortran has no prototypes here: six registers and eighteen words of the stack hold every call of MPI's, hidden
    // lengths of strings included. r10 and r11 are free; rax counts no vector registers, Fortran is never variadic.
    ".macro qmpi_call_at_level level, target",
    "push rbp",
    ".cfi_adjust_cfa_offset 8",
    ".cfi_rel_offset rbp, 0",
    "mov rbp, qword ptr [rip + {level_offset}]",
    "push qword ptr fs:[rbp]",
    ".cfi_adjust_cfa_offset 8",
    "mov r10, \\level",
    "mov qword ptr fs:[rbp], r10",
    "sub rsp, 152",
    ".cfi_adjust_cfa_offset 152",
    ".set .Lqmpi_k, 0",
    ".rept 18",
    "mov r10, qword ptr [rsp + 176 + 8 * .Lqmpi_k]",
    "mov qword ptr [rsp + 8 * .Lqmpi_k], r10",
    ".set .Lqmpi_k, .Lqmpi_k + 1",
    ".endr",
    "call \\target",
    "add rsp, 152",
    ".cfi_adjust_cfa_offset -152",
    "pop qword ptr fs:[rbp]",
    ".cfi_adjust_cfa_offset -8",
    "pop rbp",
    ".cfi_adjust_cfa_offset -8",
    ".cfi_restore rbp",
    "ret",
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
    // again: MPI may call the program back, whose calls are new ones.
    ".balign 16",
    ".hidden qmpi_fortran_to_c",
    ".globl qmpi_fortran_to_c",
    "qmpi_fortran_to_c:",
    ".cfi_startproc",
    "mov r10, qword ptr [rip + {level_offset}]",
    "mov r10, qword ptr fs:[r10]",
    "test r10, r10",
    "jnz 2f",
    "jmp qword ptr [r11]",
    "2:",
    "mov r11, qword ptr [r11 + 8 * r10]",
    "qmpi_call_at_level 0, r11",
    ".cfi_endproc",
    ".popsection",
    level = const std::mem::offset_of!(Resume, level),
    target = const std::mem::offset_of!(Resume, target),
    level_offset = sym crate::thread_offsets::FORTRAN_LEVEL,
);

unsafe extern "C" {
    fn qmpi_fortran_resume();
    fn qmpi_fortran_to_c();
}

/// A tool → the Fortran library: see [`Resume`].
pub(crate) fn fortran_resume() -> Stub {
    stub(qmpi_fortran_resume)
}

/// The Fortran library → the chain, by a table of links (the payload).
pub(crate) fn fortran_to_c() -> Stub {
    stub(qmpi_fortran_to_c)
}
