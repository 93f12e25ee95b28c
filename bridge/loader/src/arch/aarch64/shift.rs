//! Stubs between the calling conventions of tools. One per number of MPI arguments, for 0 to [`MAX_ARGS`].
//!
//! AAPCS64 6.8.2: eight words in registers, the rest on the stack. With n MPI arguments `a1`..`an`:
//!
//! | convention | `x0` | `x1` | `x2` | `x3` | `x4` | `x5` | `x6` | `x7` | `[sp]` | `[sp+8]` | `[sp+16]` |
//! |---|---|---|---|---|---|---|---|---|---|---|---|
//! | PMPI | a1 | a2 | a3 | a4 | a5 | a6 | a7 | a8 | a9 | a10 | a11 |
//! | QMPI | context | tool_id | a1 | a2 | a3 | a4 | a5 | a6 | a7 | a8 | a9 |
//! | thesis, n = 4 | a1 | a2 | a3 | a4 | level | vector | | | | | |
//!
//! * **shift down** (QMPI → PMPI): a tail jump for every n. Words on the stack move down inside the incoming argument area,
//!   which belongs to the callee; `x30` stays.
//! * **shift up** (PMPI → QMPI): a tail jump up to n = 6, most functions of MPI. Above, the stack area must grow: a frame, with CFI, so that a
//!   back trace from below passes it.
//! * **append** (PMPI → thesis): level and vector after the last argument; a frame from n = 7 on.
//!
//! The context is the application's return address. Where a PMPI tool stands in between and a layer below asks for it,
//! the stubs whose name says `record` keep it, and `recall` finds it: see `caller.rs`.
//!
//! `MPI_Pcontrol` is variadic: it is treated as twenty words, eight of them in registers; of those on the stack, as many as can be read
//! (`stack_words.rs`). The vector registers stay as they are. Shift down needs a frame as well: how much of the stack
//! belongs to the incoming arguments is unknown.
#![expect(unsafe_code, reason = "tables of machine code")]

use std::arch::global_asm;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::caller;
use super::stack_words::copy_words;
use super::{PAGE, Stub, stub};
use crate::links::blocks::{Block, Blocks};
use crate::links::conversion::{Arity, CallerMode};
use qmpi_ring::{keep_arguments, restore_arguments};

/// The largest number of arguments that the stubs are made for; MPI's own largest is 13.
pub(crate) const MAX_ARGS: usize = 20;
/// Where the tables have the stubs of variadic functions.
const VARIADIC: usize = MAX_ARGS + 1;

/// What a shift-up stub adds.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Up {
    /// The QMPI tool's function.
    pub(crate) target: usize,
    /// The tool's id.
    pub(crate) tool: i32,
    /// The context for calls that no context came with (a thread of the tool's own); 0: the return address.
    pub(crate) context: usize,
}

/// What an append stub adds.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Append {
    /// The wrapper of the 2018 prototype.
    pub(crate) target: usize,
    /// The tool's level.
    pub(crate) level: i32,
    /// The thesis's vector of tools.
    pub(crate) vector: usize,
}

global_asm!(
    // --- QMPI → PMPI; x17 is the target.
    ".macro qmpi_down_body n",
    ".if \\n > 0",
    "mov x0, x2",
    ".endif",
    ".if \\n > 1",
    "mov x1, x3",
    ".endif",
    ".if \\n > 2",
    "mov x2, x4",
    ".endif",
    ".if \\n > 3",
    "mov x3, x5",
    ".endif",
    ".if \\n > 4",
    "mov x4, x6",
    ".endif",
    ".if \\n > 5",
    "mov x5, x7",
    ".endif",
    ".if \\n > 6",
    "ldr x6, [sp]",
    ".endif",
    ".if \\n > 7",
    "ldr x7, [sp, 8]",
    ".endif",
    ".if \\n > 8",
    ".set .Lqmpi_k, 0",
    ".rept \\n - 8",
    "ldr x9, [sp, 8 * (.Lqmpi_k + 2)]",
    "str x9, [sp, 8 * .Lqmpi_k]",
    ".set .Lqmpi_k, .Lqmpi_k + 1",
    ".endr",
    ".endif",
    ".endm",
    // Tells a function of `caller.rs`: the context in x0, the stack pointer and the return address of the call. Keeps x17.
    ".macro qmpi_tell function",
    keep_arguments!(),
    "str x17, [x29, 88]",
    "add x1, x29, 224",
    "mov x2, x30",
    "bl \\function",
    "ldr x17, [x29, 88]",
    restore_arguments!(),
    ".endm",
    ".macro qmpi_down n",
    ".balign 16",
    "qmpi_down_\\n:",
    ".cfi_startproc",
    ".ifc \\n, v",
    "qmpi_down_variadic_body",
    ".else",
    "qmpi_down_body \\n",
    "br x17",
    ".endif",
    ".cfi_endproc",
    ".endm",
    ".macro qmpi_down_record n",
    ".balign 16",
    "qmpi_down_record_\\n:",
    ".cfi_startproc",
    "qmpi_tell {record}",
    ".ifc \\n, v",
    "qmpi_down_variadic_body",
    ".else",
    "qmpi_down_body \\n",
    "br x17",
    ".endif",
    ".cfi_endproc",
    ".endm",
    ".macro qmpi_down_context n",
    ".balign 16",
    "qmpi_down_context_\\n:",
    ".cfi_startproc",
    "qmpi_tell {record_first}",
    ".ifc \\n, v",
    "qmpi_down_variadic_body",
    ".else",
    "qmpi_down_body \\n",
    "br x17",
    ".endif",
    ".cfi_endproc",
    ".endm",
    ".macro qmpi_down_null n",
    ".balign 16",
    "qmpi_down_null_\\n:",
    ".cfi_startproc",
    "cbnz x0, qmpi_down_context_\\n",
    ".ifc \\n, v",
    "qmpi_down_variadic_body",
    ".else",
    "qmpi_down_body \\n",
    "br x17",
    ".endif",
    ".cfi_endproc",
    ".endm",
    // The variadic one: a copy of the words that may be arguments, of which two go into registers.
    ".macro qmpi_frame size",
    "stp x29, x30, [sp, -16]!",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset x29, -16",
    ".cfi_offset x30, -8",
    "mov x29, sp",
    ".cfi_def_cfa_register x29",
    "sub sp, sp, \\size",
    ".endm",
    ".macro qmpi_unframe",
    "mov sp, x29",
    "ldp x29, x30, [sp], 16",
    ".cfi_def_cfa sp, 0",
    ".cfi_restore x29",
    ".cfi_restore x30",
    "ret",
    ".endm",
    ".macro qmpi_down_variadic_body",
    "qmpi_frame 112",
    copy_words!(14 from 16),
    "mov x0, x2",
    "mov x1, x3",
    "mov x2, x4",
    "mov x3, x5",
    "mov x4, x6",
    "mov x5, x7",
    "ldp x6, x7, [sp], 16",
    "blr x17",
    "qmpi_unframe",
    ".endm",
    // --- PMPI → QMPI; x17 is the payload. `context`: 0 is the return address, 1 the one that is kept, 2 none. It is in x9 at first.
    ".macro qmpi_up_context context",
    ".if \\context == 2",
    "mov x9, xzr",
    ".elseif \\context == 1",
    keep_arguments!(),
    "str x17, [x29, 88]",
    "add x0, x29, 224",
    "bl {recall}",
    "ldr x17, [x29, 88]",
    "ldr x9, [x17, {up_context}]",
    "ldr x10, [x29, 8]",
    "cmp x9, 0",
    "csel x9, x10, x9, eq",
    "cmp x0, 0",
    "csel x9, x9, x0, eq",
    restore_arguments!(),
    ".else",
    "mov x9, x30",
    ".endif",
    ".endm",
    ".macro qmpi_up_shift n",
    ".if \\n > 5",
    "mov x7, x5",
    ".endif",
    ".if \\n > 4",
    "mov x6, x4",
    ".endif",
    ".if \\n > 3",
    "mov x5, x3",
    ".endif",
    ".if \\n > 2",
    "mov x4, x2",
    ".endif",
    ".if \\n > 1",
    "mov x3, x1",
    ".endif",
    ".if \\n > 0",
    "mov x2, x0",
    ".endif",
    ".endm",
    // The frame from n = 7 on, with the words that go on the stack: n - 6, to an even number. x9 stays, x10 is used.
    ".macro qmpi_up_enter n",
    "qmpi_frame 8 * (\\n - 6 + (\\n % 2))",
    "str x6, [sp]",
    ".if \\n > 7",
    "str x7, [sp, 8]",
    ".endif",
    ".if \\n > 8",
    ".set .Lqmpi_k, 0",
    ".rept \\n - 8",
    "ldr x10, [x29, 16 + 8 * .Lqmpi_k]",
    "str x10, [sp, 8 * (.Lqmpi_k + 2)]",
    ".set .Lqmpi_k, .Lqmpi_k + 1",
    ".endr",
    ".endif",
    ".endm",
    ".macro qmpi_up_body n, context",
    ".cfi_startproc",
    "qmpi_up_context \\context",
    ".ifc \\n, v",
    "stp x29, x30, [sp, -32]!",
    ".cfi_def_cfa_offset 32",
    ".cfi_offset x29, -32",
    ".cfi_offset x30, -24",
    "mov x29, sp",
    ".cfi_def_cfa_register x29",
    "str x9, [x29, 16]",
    "sub sp, sp, 96",
    copy_words!(12 from 32),
    "stp x6, x7, [sp, -16]!",
    "ldr x9, [x29, 16]",
    "qmpi_up_shift 6",
    "mov x0, x9",
    "ldr w1, [x17, {up_tool}]",
    "ldr x16, [x17, {up_target}]",
    "blr x16",
    "mov sp, x29",
    "ldp x29, x30, [sp], 32",
    ".cfi_def_cfa sp, 0",
    ".cfi_restore x29",
    ".cfi_restore x30",
    "ret",
    ".elseif \\n <= 6",
    "qmpi_up_shift \\n",
    "mov x0, x9",
    "ldr w1, [x17, {up_tool}]",
    "ldr x16, [x17, {up_target}]",
    "br x16",
    ".else",
    "qmpi_up_enter \\n",
    "qmpi_up_shift 6",
    "mov x0, x9",
    "ldr w1, [x17, {up_tool}]",
    "ldr x16, [x17, {up_target}]",
    "blr x16",
    "qmpi_unframe",
    ".endif",
    ".cfi_endproc",
    ".endm",
    ".macro qmpi_up n",
    ".balign 16",
    "qmpi_up_\\n:",
    "qmpi_up_body \\n, 0",
    ".endm",
    ".macro qmpi_up_recall n",
    ".balign 16",
    "qmpi_up_recall_\\n:",
    "qmpi_up_body \\n, 1",
    ".endm",
    ".macro qmpi_up_null n",
    ".balign 16",
    "qmpi_up_null_\\n:",
    "qmpi_up_body \\n, 2",
    ".endm",
    // --- PMPI → thesis; x17 is the payload.
    ".macro qmpi_append n",
    ".balign 16",
    "qmpi_append_\\n:",
    ".cfi_startproc",
    ".if \\n == 0",
    "ldr w0, [x17, {append_level}]",
    "ldr x1, [x17, {append_vector}]",
    ".endif",
    ".if \\n == 1",
    "ldr w1, [x17, {append_level}]",
    "ldr x2, [x17, {append_vector}]",
    ".endif",
    ".if \\n == 2",
    "ldr w2, [x17, {append_level}]",
    "ldr x3, [x17, {append_vector}]",
    ".endif",
    ".if \\n == 3",
    "ldr w3, [x17, {append_level}]",
    "ldr x4, [x17, {append_vector}]",
    ".endif",
    ".if \\n == 4",
    "ldr w4, [x17, {append_level}]",
    "ldr x5, [x17, {append_vector}]",
    ".endif",
    ".if \\n == 5",
    "ldr w5, [x17, {append_level}]",
    "ldr x6, [x17, {append_vector}]",
    ".endif",
    ".if \\n == 6",
    "ldr w6, [x17, {append_level}]",
    "ldr x7, [x17, {append_vector}]",
    ".endif",
    ".if \\n <= 6",
    "ldr x16, [x17, {append_target}]",
    "br x16",
    ".else",
    // n + 2 - 8 words, to an even number.
    "qmpi_frame 8 * (\\n - 6 + (\\n % 2))",
    ".if \\n > 8",
    ".set .Lqmpi_k, 0",
    ".rept \\n - 8",
    "ldr x10, [x29, 16 + 8 * .Lqmpi_k]",
    "str x10, [sp, 8 * .Lqmpi_k]",
    ".set .Lqmpi_k, .Lqmpi_k + 1",
    ".endr",
    ".endif",
    "ldr w9, [x17, {append_level}]",
    "ldr x10, [x17, {append_vector}]",
    ".if \\n == 7",
    "mov x7, x9",
    "str x10, [sp]",
    ".else",
    "str x9, [sp, 8 * (\\n - 8)]",
    "str x10, [sp, 8 * (\\n - 7)]",
    ".endif",
    "ldr x16, [x17, {append_target}]",
    "blr x16",
    "qmpi_unframe",
    ".endif",
    ".cfi_endproc",
    ".endm",
    // --- In one piece with their trampoline: one jump less. All of a kind are equally long. The end is in the table of
    // the next one. Those without a frame are a block ([`crate::links::blocks`]), mapped again as often as needed.
    ".macro qmpi_direct_down n, count",
    ".balign 16",
    "qmpi_direct_down_\\n:",
    ".rept \\count",
    "qmpi_down_body \\n",
    "adrp x16, {direct_rows} + .Lqmpi_row",
    "ldr x16, [x16, :lo12:{direct_rows} + .Lqmpi_row]",
    "br x16",
    ".balign 16",
    ".set .Lqmpi_row, .Lqmpi_row + 8",
    ".endr",
    ".endm",
    ".macro qmpi_direct_up n, count",
    ".balign 16",
    "qmpi_direct_up_\\n:",
    ".rept \\count",
    "qmpi_up_shift \\n",
    "adrp x16, {direct_rows} + .Lqmpi_row",
    "add x16, x16, :lo12:{direct_rows} + .Lqmpi_row",
    "ldr w1, [x16, 8]",
    "ldr x16, [x16]",
    "mov x0, x30",
    "br x16",
    ".balign 16",
    ".set .Lqmpi_row, .Lqmpi_row + 16",
    ".endr",
    ".endm",
    ".macro qmpi_direct_up_frame n, count",
    ".balign 16",
    "qmpi_direct_up_\\n:",
    ".rept \\count",
    ".cfi_remember_state",
    "qmpi_up_enter \\n",
    "qmpi_up_shift 6",
    "adrp x16, {frame_rows} + .Lqmpi_row",
    "add x16, x16, :lo12:{frame_rows} + .Lqmpi_row",
    "ldr w1, [x16, 8]",
    "ldr x16, [x16]",
    "mov x0, x30",
    "blr x16",
    "qmpi_unframe",
    ".cfi_restore_state",
    ".balign 16",
    ".set .Lqmpi_row, .Lqmpi_row + 16",
    ".endr",
    ".endm",
    ".pushsection .text.qmpi_direct, \"ax\", @progbits",
    ".balign {page}",
    ".hidden qmpi_direct",
    ".globl qmpi_direct",
    "qmpi_direct:",
    ".cfi_startproc",
    ".set .Lqmpi_row, {direct_down}",
    ".irp n, 0, 1, 2, 3, 4, 5, 6",
    "qmpi_direct_down \\n, {direct}",
    ".endr",
    ".irp n, 7, 8, 9, 10, 11, 12, 13",
    "qmpi_direct_down \\n, {direct_long}",
    ".endr",
    "qmpi_direct_down_14:",
    ".set .Lqmpi_row, {direct_up}",
    ".irp n, 0, 1, 2, 3, 4, 5, 6",
    "qmpi_direct_up \\n, {direct}",
    ".endr",
    "qmpi_direct_up_end:",
    ".balign {page}",
    ".hidden qmpi_direct_end",
    ".globl qmpi_direct_end",
    "qmpi_direct_end:",
    ".set .Lqmpi_row, 0",
    ".irp n, 7, 8, 9, 10, 11, 12, 13",
    "qmpi_direct_up_frame \\n, {direct_long}",
    ".endr",
    "qmpi_direct_up_14:",
    ".cfi_endproc",
    ".popsection",
    ".pushsection .data.rel.ro.qmpi_direct, \"aw\", @progbits",
    ".balign 8",
    ".hidden qmpi_direct_down_table",
    ".globl qmpi_direct_down_table",
    "qmpi_direct_down_table:",
    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14",
    ".quad qmpi_direct_down_\\n",
    ".endr",
    ".hidden qmpi_direct_up_table",
    ".globl qmpi_direct_up_table",
    "qmpi_direct_up_table:",
    ".irp n, 0, 1, 2, 3, 4, 5, 6, end",
    ".quad qmpi_direct_up_\\n",
    ".endr",
    ".hidden qmpi_direct_up_frame_table",
    ".globl qmpi_direct_up_frame_table",
    "qmpi_direct_up_frame_table:",
    ".irp n, 7, 8, 9, 10, 11, 12, 13, 14",
    ".quad qmpi_direct_up_\\n",
    ".endr",
    ".popsection",
    // The same where contexts are null so far ([`NullRows`]): a block of its own, which only `libqmpi_bridge.so` uses.
    ".macro qmpi_direct_down_null n, count",
    ".balign 16",
    "qmpi_direct_down_null_\\n:",
    ".rept \\count",
    "cbnz x0, 9f",
    "qmpi_down_body \\n",
    "adrp x16, {null_rows} + .Lqmpi_row",
    "ldr x16, [x16, :lo12:{null_rows} + .Lqmpi_row]",
    "br x16",
    "9:",
    "adrp x17, {null_rows} + .Lqmpi_row",
    "ldr x17, [x17, :lo12:{null_rows} + .Lqmpi_row]",
    "adrp x16, {null_rows} + {null_with_context} + 8 * \\n",
    "ldr x16, [x16, :lo12:{null_rows} + {null_with_context} + 8 * \\n]",
    "br x16",
    ".balign 16",
    ".set .Lqmpi_row, .Lqmpi_row + 8",
    ".endr",
    ".endm",
    ".macro qmpi_direct_up_null n, count",
    ".balign 16",
    "qmpi_direct_up_null_\\n:",
    ".rept \\count",
    "qmpi_up_shift \\n",
    "adrp x16, {null_rows} + .Lqmpi_row",
    "add x16, x16, :lo12:{null_rows} + .Lqmpi_row",
    "ldr w1, [x16, 8]",
    "ldr x16, [x16]",
    "mov x0, xzr",
    "br x16",
    ".balign 16",
    ".set .Lqmpi_row, .Lqmpi_row + 16",
    ".endr",
    ".endm",
    ".pushsection .text.qmpi_null, \"ax\", @progbits",
    ".balign {page}",
    ".hidden qmpi_null",
    ".globl qmpi_null",
    "qmpi_null:",
    ".cfi_startproc",
    ".set .Lqmpi_row, {null_down}",
    ".irp n, 0, 1, 2, 3, 4, 5, 6",
    "qmpi_direct_down_null \\n, {direct}",
    ".endr",
    ".irp n, 7, 8, 9, 10, 11, 12, 13",
    "qmpi_direct_down_null \\n, {direct_long}",
    ".endr",
    "qmpi_direct_down_null_14:",
    ".set .Lqmpi_row, {null_up}",
    ".irp n, 0, 1, 2, 3, 4, 5, 6",
    "qmpi_direct_up_null \\n, {direct}",
    ".endr",
    "qmpi_direct_up_null_end:",
    ".cfi_endproc",
    ".balign {page}",
    ".hidden qmpi_null_end",
    ".globl qmpi_null_end",
    "qmpi_null_end:",
    ".popsection",
    ".pushsection .data.rel.ro.qmpi_null, \"aw\", @progbits",
    ".balign 8",
    ".hidden qmpi_direct_down_null_table",
    ".globl qmpi_direct_down_null_table",
    "qmpi_direct_down_null_table:",
    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14",
    ".quad qmpi_direct_down_null_\\n",
    ".endr",
    ".hidden qmpi_direct_up_null_table",
    ".globl qmpi_direct_up_null_table",
    "qmpi_direct_up_null_table:",
    ".irp n, 0, 1, 2, 3, 4, 5, 6, end",
    ".quad qmpi_direct_up_null_\\n",
    ".endr",
    ".popsection",
    // --- All of them.
    ".macro qmpi_each stub",
    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20",
    "\\stub \\n",
    ".endr",
    ".endm",
    ".pushsection .text.qmpi_shift, \"ax\", @progbits",
    "qmpi_each qmpi_down",
    "qmpi_each qmpi_down_record",
    "qmpi_each qmpi_down_context",
    "qmpi_each qmpi_down_null",
    "qmpi_each qmpi_up",
    "qmpi_each qmpi_up_recall",
    "qmpi_each qmpi_up_null",
    "qmpi_each qmpi_append",
    "qmpi_down v",
    "qmpi_down_record v",
    "qmpi_down_context v",
    "qmpi_down_null v",
    "qmpi_up v",
    "qmpi_up_recall v",
    "qmpi_up_null v",
    // The application → a PMPI tool, with the return address recorded.
    ".balign 16",
    ".hidden qmpi_record",
    ".globl qmpi_record",
    "qmpi_record:",
    ".cfi_startproc",
    keep_arguments!(),
    "str x17, [x29, 88]",
    "mov x0, x30",
    "add x1, x29, 224",
    "mov x2, x30",
    "bl {record}",
    "ldr x17, [x29, 88]",
    restore_arguments!(),
    "br x17",
    ".cfi_endproc",
    ".popsection",
    ".macro qmpi_table name",
    ".hidden \\name\\()_table",
    ".globl \\name\\()_table",
    "\\name\\()_table:",
    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20",
    ".quad \\name\\()_\\n",
    ".endr",
    ".endm",
    ".pushsection .data.rel.ro.qmpi_shift, \"aw\", @progbits",
    ".balign 8",
    "qmpi_table qmpi_down",
    ".quad qmpi_down_v",
    "qmpi_table qmpi_down_record",
    ".quad qmpi_down_record_v",
    "qmpi_table qmpi_up",
    ".quad qmpi_up_v",
    "qmpi_table qmpi_up_recall",
    ".quad qmpi_up_recall_v",
    "qmpi_table qmpi_down_context",
    "qmpi_table qmpi_down_null",
    ".quad qmpi_down_null_v",
    "qmpi_table qmpi_up_null",
    ".quad qmpi_up_null_v",
    "qmpi_table qmpi_append",
    ".popsection",
    record = sym caller::record,
    record_first = sym caller::record_first,
    recall = sym caller::recall,
    up_target = const std::mem::offset_of!(Up, target),
    up_tool = const std::mem::offset_of!(Up, tool),
    up_context = const std::mem::offset_of!(Up, context),
    append_target = const std::mem::offset_of!(Append, target),
    append_level = const std::mem::offset_of!(Append, level),
    append_vector = const std::mem::offset_of!(Append, vector),
    direct = const DIRECT,
    direct_long = const DIRECT_LONG,
    page = const PAGE,
    direct_rows = sym DIRECT_ROWS,
    direct_down = const std::mem::offset_of!(DirectRows, down),
    direct_up = const std::mem::offset_of!(DirectRows, up),
    frame_rows = sym FRAME_ROWS,
    null_rows = sym NULL_ROWS,
    null_with_context = const std::mem::offset_of!(NullRows, with_context),
    null_down = const std::mem::offset_of!(NullRows, rows) + std::mem::offset_of!(DirectRows, down),
    null_up = const std::mem::offset_of!(NullRows, rows) + std::mem::offset_of!(DirectRows, up),
);

/// How many stubs with a trampoline of their own a block has for each number of arguments: enough for every function once.
const DIRECT: usize = 256;
/// The same where there are words on the stack: the stubs are longer, and the functions fewer.
const DIRECT_LONG: usize = 96;
/// The largest number of arguments of a direct stub.
const DIRECT_ARGS: usize = 13;
/// The largest number of arguments without words on the stack, in a shift down and in a shift up.
const REGISTERS_DOWN: usize = 6;
const REGISTERS_UP: usize = 6;

/// How many direct stubs a block has for a shift down of `count` arguments.
const fn down_capacity(count: usize) -> usize {
    if count <= REGISTERS_DOWN { DIRECT } else { DIRECT_LONG }
}

/// How many rows of shifts down there are for less than `count` arguments.
const fn down_rows_before(count: usize) -> usize {
    let mut rows = 0;
    let mut of = 0;
    while of < count {
        rows += down_capacity(of);
        of += 1;
    }
    rows
}

const DOWN_COUNT: usize = down_rows_before(DIRECT_ARGS + 1);
const UP_COUNT: usize = DIRECT * (REGISTERS_UP + 1);
const FRAME_KINDS: usize = DIRECT_ARGS - REGISTERS_UP;
const FRAME_COUNT: usize = DIRECT_LONG * FRAME_KINDS;

/// As [`Up`], without a context.
#[repr(C)]
struct UpRow {
    target: AtomicUsize,
    tool: AtomicUsize,
}

/// The rows of a block; whole pages, as they are mapped again.
#[repr(C, align(65536))]
struct DirectRows {
    down: [AtomicUsize; DOWN_COUNT],
    up: [UpRow; UP_COUNT],
}

/// Each row is written once, before the address of the stub is given away.
static DIRECT_ROWS: DirectRows =
    DirectRows { down: [const { AtomicUsize::new(0) }; DOWN_COUNT], up: [const { UpRow::new() }; UP_COUNT] };

/// The rows of a block for null contexts.
#[repr(C, align(65536))]
struct NullRows {
    rows: DirectRows,
    /// Where a call goes whose context is not null, by number of arguments: code of the library.
    with_context: [AtomicUsize; DIRECT_ARGS + 1],
}

static NULL_ROWS: NullRows = NullRows {
    rows: DirectRows { down: [const { AtomicUsize::new(0) }; DOWN_COUNT], up: [const { UpRow::new() }; UP_COUNT] },
    with_context: [const { AtomicUsize::new(0) }; DIRECT_ARGS + 1],
};

/// Of direct stubs with a frame: there is one block of them, as no call returns into a copy.
static FRAME_ROWS: [UpRow; FRAME_COUNT] = [const { UpRow::new() }; FRAME_COUNT];

impl UpRow {
    const fn new() -> UpRow {
        UpRow { target: AtomicUsize::new(0), tool: AtomicUsize::new(0) }
    }

    fn set(&self, target: usize, tool: i32) {
        self.tool.store(tool as u32 as usize, Ordering::Relaxed);
        self.target.store(target, Ordering::Release);
    }
}

unsafe extern "C" {
    static qmpi_direct: u8;
    static qmpi_direct_end: u8;
    // Where the direct stubs for each number of arguments start, and at last where they end.
    static qmpi_direct_down_table: [usize; DIRECT_ARGS + 2];
    static qmpi_direct_up_table: [usize; REGISTERS_UP + 2];
    static qmpi_direct_up_frame_table: [usize; FRAME_KINDS + 1];
    static qmpi_null: u8;
    static qmpi_null_end: u8;
    // As above.
    static qmpi_direct_down_null_table: [usize; DIRECT_ARGS + 2];
    static qmpi_direct_up_null_table: [usize; REGISTERS_UP + 2];
    static qmpi_down_context_table: Table;
}

/// The block of direct stubs that is in the library.
fn direct_block() -> Block {
    let code = (&raw const qmpi_direct).expose_provenance();
    Block {
        code,
        code_len: (&raw const qmpi_direct_end).addr() - code,
        rows: (&raw const DIRECT_ROWS).expose_provenance(),
        rows_len: size_of::<DirectRows>(),
    }
}

static DIRECT_BLOCKS: Blocks = Blocks::new(direct_block);

/// The rows of a block, and how far its code is from that of the library.
fn direct_rows(number: usize) -> io::Result<(&'static DirectRows, usize)> {
    let block = DIRECT_BLOCKS.get(number)?;
    let rows = std::ptr::with_exposed_provenance::<DirectRows>(block.rows);
    // SAFETY: blocks have such rows, zero at first, at addresses that stay mapped for ever.
    Ok((unsafe { &*rows }, block.code.wrapping_sub((&raw const qmpi_direct).addr())))
}

/// The address of a stub of the library: number `index` of the `capacity` stubs of the kind `kind`.
fn stub_address(starts: &[usize], kind: usize, capacity: usize, index: usize) -> usize {
    // The next kind begins where this one ends, as all are aligned.
    let (start, end) = (starts[kind], starts[kind + 1]);
    start + (end - start) / capacity * index
}

/// QMPI → PMPI with one jump. `None`: there are none for so many arguments.
pub(crate) fn direct_down(target: usize, count: u8) -> Option<io::Result<usize>> {
    static TAKEN: [AtomicUsize; DIRECT_ARGS + 1] = [const { AtomicUsize::new(0) }; DIRECT_ARGS + 1];
    let count = usize::from(count);
    let number = TAKEN.get(count)?.fetch_add(1, Ordering::Relaxed);
    let capacity = down_capacity(count);
    Some(direct_rows(number / capacity).map(|(rows, distance)| {
        let index = number % capacity;
        rows.down[down_rows_before(count) + index].store(target, Ordering::Release);
        // SAFETY: a table of constants.
        let starts = unsafe { &qmpi_direct_down_table };
        stub_address(starts, count, capacity, index).wrapping_add(distance)
    }))
}

/// PMPI → QMPI with one jump or call. `None`: there are none for so many arguments, or none are left.
pub(crate) fn direct_up(target: usize, tool: i32, count: u8) -> Option<io::Result<usize>> {
    static TAKEN: [AtomicUsize; DIRECT_ARGS + 1] = [const { AtomicUsize::new(0) }; DIRECT_ARGS + 1];
    let count = usize::from(count);
    let number = TAKEN.get(count)?.fetch_add(1, Ordering::Relaxed);
    if let Some(kind) = count.checked_sub(REGISTERS_UP + 1) {
        let row = (number < DIRECT_LONG).then(|| &FRAME_ROWS[kind * DIRECT_LONG + number])?;
        row.set(target, tool);
        // SAFETY: a table of constants.
        return Some(Ok(stub_address(unsafe { &qmpi_direct_up_frame_table }, kind, DIRECT_LONG, number)));
    }
    Some(direct_rows(number / DIRECT).map(|(rows, distance)| {
        let index = number % DIRECT;
        rows.up[count * DIRECT + index].set(target, tool);
        // SAFETY: a table of constants.
        stub_address(unsafe { &qmpi_direct_up_table }, count, DIRECT, index).wrapping_add(distance)
    }))
}

/// The block for null contexts that is in the library.
fn null_block() -> Block {
    let code = (&raw const qmpi_null).expose_provenance();
    Block {
        code,
        code_len: (&raw const qmpi_null_end).addr() - code,
        rows: (&raw const NULL_ROWS).expose_provenance(),
        rows_len: size_of::<NullRows>(),
    }
}

/// The rows of a block for null contexts, and how far its code is from that of the library.
fn null_rows(number: usize) -> io::Result<(&'static NullRows, usize)> {
    static BLOCKS: Blocks = Blocks::new(null_block);
    let block = BLOCKS.get(number)?;
    let rows = std::ptr::with_exposed_provenance::<NullRows>(block.rows);
    // SAFETY: blocks have such rows, zero at first, at addresses that stay mapped for ever.
    let rows = unsafe { &*rows };
    // SAFETY: a table of constants.
    let with_context = unsafe { &qmpi_down_context_table };
    // Whichever thread is first: all write the same.
    for (place, stub) in rows.with_context.iter().zip(with_context) {
        place.store(*stub as usize, Ordering::Relaxed);
    }
    Ok((rows, block.code.wrapping_sub((&raw const qmpi_null).addr())))
}

/// As [`direct_down`], where contexts are null so far.
pub(crate) fn direct_down_null(target: usize, count: u8) -> Option<io::Result<usize>> {
    static TAKEN: [AtomicUsize; DIRECT_ARGS + 1] = [const { AtomicUsize::new(0) }; DIRECT_ARGS + 1];
    let count = usize::from(count);
    let number = TAKEN.get(count)?.fetch_add(1, Ordering::Relaxed);
    let capacity = down_capacity(count);
    Some(null_rows(number / capacity).map(|(rows, distance)| {
        let index = number % capacity;
        rows.rows.down[down_rows_before(count) + index].store(target, Ordering::Release);
        // SAFETY: a table of constants.
        stub_address(unsafe { &qmpi_direct_down_null_table }, count, capacity, index).wrapping_add(distance)
    }))
}

/// As [`direct_up`], with a null context. `None`: there are none for so many arguments.
pub(crate) fn direct_up_null(target: usize, tool: i32, count: u8) -> Option<io::Result<usize>> {
    static TAKEN: [AtomicUsize; REGISTERS_UP + 1] = [const { AtomicUsize::new(0) }; REGISTERS_UP + 1];
    let count = usize::from(count);
    let number = TAKEN.get(count)?.fetch_add(1, Ordering::Relaxed);
    Some(null_rows(number / DIRECT).map(|(rows, distance)| {
        let index = number % DIRECT;
        rows.rows.up[count * DIRECT + index].set(target, tool);
        // SAFETY: a table of constants.
        stub_address(unsafe { &qmpi_direct_up_null_table }, count, DIRECT, index).wrapping_add(distance)
    }))
}

/// The stubs of one kind that has none of its own for variadic calls.
type Table = [Stub; MAX_ARGS + 1];
/// As above, and the one for variadic calls.
type TableAndVariadic = [Stub; MAX_ARGS + 2];

unsafe extern "C" {
    static qmpi_down_table: TableAndVariadic;
    static qmpi_down_record_table: TableAndVariadic;
    static qmpi_up_table: TableAndVariadic;
    static qmpi_up_recall_table: TableAndVariadic;
    static qmpi_down_null_table: TableAndVariadic;
    static qmpi_up_null_table: TableAndVariadic;
    static qmpi_append_table: Table;
    fn qmpi_record();
}

/// Where a table has the stub.
fn index(arity: Arity) -> usize {
    match arity {
        Arity::Fixed(count) => usize::from(count).min(MAX_ARGS),
        Arity::Variadic => VARIADIC,
    }
}

/// QMPI → PMPI where contexts are null so far.
pub(crate) fn down_null(arity: Arity) -> Stub {
    // SAFETY: a table of constants.
    unsafe { qmpi_down_null_table[index(arity)] }
}

/// PMPI → QMPI with a null context.
pub(crate) fn up_null(arity: Arity) -> Stub {
    // SAFETY: a table of constants.
    unsafe { qmpi_up_null_table[index(arity)] }
}

/// QMPI → PMPI.
pub(crate) fn down(arity: Arity, mode: CallerMode) -> Stub {
    let index = index(arity);
    match mode {
        // SAFETY: a table of constants.
        CallerMode::Ignore => unsafe { qmpi_down_table[index] },
        // SAFETY: as above.
        CallerMode::Keep => unsafe { qmpi_down_record_table[index] },
    }
}

/// PMPI → QMPI.
pub(crate) fn up(arity: Arity, mode: CallerMode) -> Stub {
    let index = index(arity);
    match mode {
        // SAFETY: a table of constants.
        CallerMode::Ignore => unsafe { qmpi_up_table[index] },
        // SAFETY: as above.
        CallerMode::Keep => unsafe { qmpi_up_recall_table[index] },
    }
}

/// PMPI → thesis. The prototype has no variadic functions: of `MPI_Pcontrol` the first argument counts.
pub(crate) fn append(arity: Arity) -> Stub {
    let index = match arity {
        Arity::Fixed(count) => usize::from(count).min(MAX_ARGS),
        Arity::Variadic => 1,
    };
    // SAFETY: a table of constants.
    unsafe { qmpi_append_table[index] }
}

/// The application → PMPI, with the return address recorded.
pub(crate) fn record() -> Stub {
    stub(qmpi_record)
}
