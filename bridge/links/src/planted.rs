//! Defects for the tests of the tests: only in a build with `--cfg planted`, which no product has (tests/src/planted.rs).
//!
//! Stubs that are mapped again ([`crate::blocks`]) only jump. Here is a kind of them that counts, without a lock.
#![expect(unsafe_code, reason = "defects, in the rows that machine code jumps through")]

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::arch::{PAGE, WholePages, machine_code};
use crate::blocks::Blocks;

/// How many stubs a block has: one page.
const RACING_STUBS: usize = PAGE / 16;

#[repr(C)]
struct RacingRow {
    calls: AtomicUsize,
    target: AtomicUsize,
}

type RacingRows = [RacingRow; RACING_STUBS];

static ROWS: WholePages<RacingRows> =
    WholePages([const { RacingRow { calls: AtomicUsize::new(0), target: AtomicUsize::new(0) } }; RACING_STUBS]);

machine_code!(["planted"], { page = const PAGE, count = const RACING_STUBS, rows = sym ROWS });

unsafe extern "C" {
    static qmpi_racing_stubs: u8;
    static qmpi_racing_stubs_end: u8;
}

/// A stub in a copy of a block, never in the library itself, that counts its calls and jumps to `target`.
pub fn racing_copy(target: usize) -> usize {
    static TAKEN: AtomicUsize = AtomicUsize::new(0);
    static BLOCKS: Blocks<RacingRows> =
        // SAFETY: none of this is safe; that is what the tests are to find.
        unsafe { Blocks::new(&raw const qmpi_racing_stubs, &raw const qmpi_racing_stubs_end, &ROWS) };
    let number = TAKEN.fetch_add(1, Ordering::Relaxed);
    let block = BLOCKS.get(1 + number / RACING_STUBS);
    block.rows[number % RACING_STUBS].target.store(target, Ordering::Release);
    block.code + number % RACING_STUBS * 16
}
