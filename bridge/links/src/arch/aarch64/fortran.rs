//! Fortran calls: at which layer the C functions that MPI's Fortran library calls enter the chain.
//!
//! A word of thread-local storage (`ring/src/arch/thread_storage.s`) says how many layers the call has behind it; 0 outside of such
//! calls. Only tools with Fortran wrappers ever set it.
#![expect(unsafe_code, reason = "machine code behind trampolines")]

use std::arch::global_asm;

use super::stack_words::copy_words;
use super::{ARGUMENT_REGISTERS, Stub, stub};
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
    // caller's words begin at x29 + 32. x9 to x11 are used.
    ".macro qmpi_enter_level level, frame",
    "stp x29, x30, [sp, -32]!",
    ".cfi_def_cfa_offset 32",
    ".cfi_offset x29, -32",
    ".cfi_offset x30, -24",
    "mov x29, sp",
    ".cfi_def_cfa_register x29",
    "adrp x9, {level_offset}",
    "ldr x9, [x9, :lo12:{level_offset}]",
    "mrs x10, tpidr_el0",
    "add x9, x9, x10",
    "ldr x10, [x9]",
    "stp x9, x10, [x29, 16]",
    "str \\level, [x9]",
    "sub sp, sp, \\frame",
    ".endm",
    ".macro qmpi_leave_level",
    "mov sp, x29",
    "ldp x9, x10, [x29, 16]",
    "str x10, [x9]",
    "ldp x29, x30, [sp], 32",
    ".cfi_def_cfa sp, 0",
    ".cfi_restore x29",
    ".cfi_restore x30",
    "ret",
    ".endm",
    // Calls x17 with all arguments. Fortran has no prototypes here: eight registers and eighteen words of the stack hold every
    // call of MPI's, hidden lengths of strings included; how many the caller wrote is unknown.
    ".macro qmpi_call_at_level level",
    "qmpi_enter_level \\level, 144",
    copy_words!(18 from 32),
    "blr x17",
    "qmpi_leave_level",
    ".endm",
    ".pushsection .text.qmpi_fortran, \"ax\", @progbits",
    // A tool's call of `pmpi_f_`: x17 is the payload.
    ".balign 16",
    ".hidden qmpi_fortran_resume",
    ".globl qmpi_fortran_resume",
    "qmpi_fortran_resume:",
    ".cfi_startproc",
    "ldr x12, [x17, {level}]",
    "ldr x17, [x17, {target}]",
    "qmpi_call_at_level x12",
    ".cfi_endproc",
    // The Fortran library's call of a C function: x17 is a table of links, one for each level. On the way, the level is 0
    // again: MPI may call the program back, whose calls are new ones. The C function's prototype is known: `n` is how many words of
    // the stack it reads, `v` stands for a variadic one.
    ".macro qmpi_fortran_to_c n",
    ".balign 16",
    "qmpi_fortran_to_c_\\n:",
    ".cfi_startproc",
    "adrp x9, {level_offset}",
    "ldr x9, [x9, :lo12:{level_offset}]",
    "mrs x10, tpidr_el0",
    "ldr x9, [x10, x9]",
    "cbnz x9, 2f",
    "ldr x16, [x17]",
    "br x16",
    "2:",
    "ldr x17, [x17, x9, lsl 3]",
    ".ifc \\n, v",
    "qmpi_call_at_level xzr",
    ".else",
    "qmpi_enter_level xzr, 8 * (\\n + \\n % 2)",
    ".set .Lqmpi_k, 0",
    ".rept \\n",
    "ldr x9, [x29, 32 + 8 * .Lqmpi_k]",
    "str x9, [sp, 8 * .Lqmpi_k]",
    ".set .Lqmpi_k, .Lqmpi_k + 1",
    ".endr",
    "blr x17",
    "qmpi_leave_level",
    ".endif",
    ".cfi_endproc",
    ".endm",
    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, v",
    "qmpi_fortran_to_c \\n",
    ".endr",
    ".popsection",
    ".pushsection .data.rel.ro.qmpi_fortran, \"aw\", @progbits",
    ".balign 8",
    ".hidden qmpi_fortran_to_c_table",
    ".globl qmpi_fortran_to_c_table",
    "qmpi_fortran_to_c_table:",
    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, v",
    ".quad qmpi_fortran_to_c_\\n",
    ".endr",
    ".popsection",
    level = const std::mem::offset_of!(Resume, level),
    target = const std::mem::offset_of!(Resume, target),
    level_offset = sym crate::thread_offsets::FORTRAN_LEVEL,
);

/// Words on the stack of the longest C function.
const MOST_WORDS: usize = MAX_ARGS - ARGUMENT_REGISTERS;

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
        Arity::Fixed(count) => usize::from(count).saturating_sub(ARGUMENT_REGISTERS).min(MOST_WORDS),
        Arity::Variadic => MOST_WORDS + 1,
    };
    // SAFETY: a table of constants.
    unsafe { qmpi_fortran_to_c_table[index] }
}
