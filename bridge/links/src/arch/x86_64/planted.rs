//! A block of stubs that race: each counts its calls in its row without a lock. See `planted.rs` of this crate.
#![expect(unsafe_code, reason = "defects, in the rows that machine code jumps through")]

use std::arch::global_asm;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::PAGE;
use crate::blocks::Block;

/// How many stubs a block has: one page.
pub(crate) const RACING_STUBS: usize = PAGE / 16;

#[repr(C)]
struct RacingRow {
    calls: AtomicUsize,
    target: AtomicUsize,
}

#[repr(C, align(4096))]
struct Rows([RacingRow; RACING_STUBS]);

static ROWS: Rows =
    Rows([const { RacingRow { calls: AtomicUsize::new(0), target: AtomicUsize::new(0) } }; RACING_STUBS]);

global_asm!(
    ".pushsection .text.qmpi_racing_stubs, \"ax\", @progbits",
    ".balign {page}",
    ".hidden qmpi_racing_stubs",
    ".globl qmpi_racing_stubs",
    ".type qmpi_racing_stubs, @function",
    "qmpi_racing_stubs:",
    ".set .Lqmpi_racing_row, 0",
    ".rept {count}",
    "inc qword ptr [rip + {rows} + .Lqmpi_racing_row]",
    "jmp qword ptr [rip + {rows} + .Lqmpi_racing_row + 8]",
    ".balign 16, 0xcc",
    ".set .Lqmpi_racing_row, .Lqmpi_racing_row + 16",
    ".endr",
    ".size qmpi_racing_stubs, . - qmpi_racing_stubs",
    ".popsection",
    page = const PAGE,
    count = const RACING_STUBS,
    rows = sym ROWS,
);

unsafe extern "C" {
    static qmpi_racing_stubs: [[u8; 16]; RACING_STUBS];
}

/// The block that is in the library.
pub(crate) fn racing_stubs() -> Block {
    Block {
        code: (&raw const qmpi_racing_stubs).expose_provenance(),
        code_len: PAGE,
        rows: (&raw const ROWS).expose_provenance(),
        rows_len: size_of::<Rows>(),
    }
}

/// Fills in stub `index` of a block and returns its address.
pub(crate) fn set_racing_stub(block: Block, index: usize, target: usize) -> usize {
    let rows = std::ptr::with_exposed_provenance::<RacingRow>(block.rows);
    // SAFETY: blocks have so many rows, at addresses that stay mapped for ever.
    let row = unsafe { rows.add(index % RACING_STUBS) };
    // SAFETY: as above; rows are never freed.
    unsafe { &*row }.target.store(target, Ordering::Release);
    block.code + index % RACING_STUBS * 16
}
