//! The block of trampolines: `mov r11, payload; jmp target`, with both in rows of data ([`crate::links::blocks`]).
#![expect(unsafe_code, reason = "the rows that machine code jumps through")]

use std::arch::global_asm;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::PAGE;
use crate::links::blocks::Block;

/// Code that a trampoline leads to; it is no function that Rust could call.
pub(crate) type Stub = extern "C" fn();

/// Code from an assembler block as what a trampoline leads to.
pub(crate) fn stub(code: unsafe extern "C" fn()) -> Stub {
    // SAFETY: the code is only ever reached through a trampoline or a stub, never called from Rust.
    unsafe { std::mem::transmute::<unsafe extern "C" fn(), Stub>(code) }
}

/// How many trampolines a block has: 64 KB of code and as much data, touched only where used.
pub(crate) const TRAMPOLINES: usize = 4096;

/// Bytes of one trampoline's code.
const TRAMPOLINE_SIZE: usize = 16;

/// What a trampoline loads.
#[repr(C)]
struct Row {
    payload: AtomicUsize,
    target: AtomicUsize,
}

/// Whole pages, as they are mapped again.
#[repr(C, align(4096))]
struct Rows([Row; TRAMPOLINES]);

static ROWS: Rows = Rows([const { Row { payload: AtomicUsize::new(0), target: AtomicUsize::new(0) } }; TRAMPOLINES]);

const _: () = assert!(align_of::<Rows>() == PAGE && (TRAMPOLINES * TRAMPOLINE_SIZE).is_multiple_of(PAGE));

global_asm!(
    ".pushsection .text.qmpi_trampolines, \"ax\", @progbits",
    ".balign {page}",
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
    page = const PAGE,
    count = const TRAMPOLINES,
    size = const TRAMPOLINE_SIZE,
    rows = sym ROWS,
);

unsafe extern "C" {
    static qmpi_trampolines: [[u8; TRAMPOLINE_SIZE]; TRAMPOLINES];
}

/// The block that is in the library.
pub(crate) fn trampolines() -> Block {
    Block {
        code: (&raw const qmpi_trampolines).expose_provenance(),
        code_len: TRAMPOLINES * TRAMPOLINE_SIZE,
        rows: (&raw const ROWS).expose_provenance(),
        rows_len: size_of::<Rows>(),
    }
}

/// Fills in trampoline `index` of a block and returns its address.
///
/// # Safety
/// The row must be unused, and `target` must be code that understands `payload` in `r11`.
pub(crate) unsafe fn set_trampoline(block: Block, index: usize, target: usize, payload: usize) -> usize {
    assert!(index < TRAMPOLINES, "a trampoline of the block");
    let rows = std::ptr::with_exposed_provenance::<Row>(block.rows);
    // SAFETY: blocks have so many rows, at addresses that stay mapped for ever.
    let row = unsafe { rows.add(index) };
    // SAFETY: as above; rows are never freed.
    let row: &'static Row = unsafe { &*row };
    row.payload.store(payload, Ordering::Relaxed);
    // Nothing jumps through it before its address is given away.
    row.target.store(target, Ordering::Release);
    block.code + index * TRAMPOLINE_SIZE
}
