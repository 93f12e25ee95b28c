//! Defects for the tests of the tests: only in a build with `--cfg planted`, which no product has (tests/src/planted.rs).
//!
//! Stubs that are mapped again ([`crate::blocks`]) only jump. Here is a kind of them that counts, without a lock.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::arch;
use crate::blocks::Blocks;
use crate::error::StubError;

/// A stub in a copy of a block, never in the library itself, that counts its calls and jumps to `target`.
#[expect(clippy::missing_errors_doc, reason = "as of any stub")]
pub fn racing_copy(target: usize) -> Result<usize, StubError> {
    static BLOCKS: Blocks = Blocks::new(arch::racing_stubs);
    static TAKEN: AtomicUsize = AtomicUsize::new(0);
    let number = TAKEN.fetch_add(1, Ordering::Relaxed);
    let block = BLOCKS.get(1 + number / arch::RACING_STUBS).map_err(StubError)?;
    Ok(arch::set_racing_stub(block, number, target))
}
