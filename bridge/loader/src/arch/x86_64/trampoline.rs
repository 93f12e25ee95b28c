//! The pool of trampolines: `mov r11, payload; jmp target`, with both words in a table of data.
#![expect(unsafe_code, reason = "the table that machine code jumps through")]

use std::arch::global_asm;
use std::cell::UnsafeCell;

/// Code that a trampoline leads to; it is no function that Rust could call.
pub(crate) type Stub = extern "C" fn();

/// Code from an assembler block as what a trampoline leads to.
pub(crate) fn stub(code: unsafe extern "C" fn()) -> Stub {
    // SAFETY: the code is only ever reached through a trampoline or a stub, never called from Rust.
    unsafe { std::mem::transmute::<unsafe extern "C" fn(), Stub>(code) }
}

/// How many trampolines there are: 256 KB of code and as much data, touched only where used.
pub(crate) const TRAMPOLINES: usize = 16384;

/// Bytes of one trampoline's code.
const TRAMPOLINE_SIZE: usize = 16;

/// What a trampoline loads: payload, then target.
#[repr(C)]
pub(crate) struct Row {
    payload: UnsafeCell<usize>,
    target: UnsafeCell<usize>,
}

// SAFETY: a row is written once, by whoever took it from the pool, before its address is given away.
unsafe impl Sync for Row {}

static ROWS: [Row; TRAMPOLINES] =
    [const { Row { payload: UnsafeCell::new(0), target: UnsafeCell::new(0) } }; TRAMPOLINES];

global_asm!(
    ".pushsection .text.qmpi_trampolines, \"ax\", @progbits",
    ".balign 64",
    ".hidden qmpi_trampolines",
    ".globl qmpi_trampolines",
    ".type qmpi_trampolines, @function",
    "qmpi_trampolines:",
    ".cfi_startproc",
    ".set .Lqmpi_row, 0",
    ".rept {count}",
    "mov r11, qword ptr [rip + {rows} + .Lqmpi_row]",
    "jmp qword ptr [rip + {rows} + .Lqmpi_row + 8]",
    ".balign {size}, 0xcc",
    ".set .Lqmpi_row, .Lqmpi_row + 16",
    ".endr",
    ".cfi_endproc",
    ".size qmpi_trampolines, . - qmpi_trampolines",
    ".popsection",
    count = const TRAMPOLINES,
    size = const TRAMPOLINE_SIZE,
    rows = sym ROWS,
);

unsafe extern "C" {
    static qmpi_trampolines: [[u8; TRAMPOLINE_SIZE]; TRAMPOLINES];
}

/// Fills in trampoline `index` and returns its address.
///
/// # Safety
/// The row must be unused, and `target` must be code that understands `payload` in `r11`.
pub(crate) unsafe fn set_trampoline(index: usize, target: usize, payload: usize) -> usize {
    let row = &ROWS[index];
    // SAFETY: the caller owns the row, and nothing jumps through it yet.
    unsafe { *row.payload.get() = payload };
    // SAFETY: as above.
    unsafe { *row.target.get() = target };
    let code = &raw const qmpi_trampolines;
    code.addr() + index * TRAMPOLINE_SIZE
}
