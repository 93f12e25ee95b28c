//! Trampolines: each is a function of its own that carries one word of data.
//!
//! They exist so that one stub can serve many instances: the word says for which one it is called. There are as many as are needed
//! (`blocks.rs`).
#![expect(unsafe_code, reason = "the rows that machine code jumps through")]

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::arch::{PAGE, WholePages, machine_code};
use crate::blocks::Blocks;

/// Code that a trampoline leads to; it is no function that Rust could call.
pub type Stub = unsafe extern "C" fn();

/// How many trampolines a block has: 64 KB of code and as much data, touched only where used.
const TRAMPOLINES: usize = 4096;

/// Bytes of one trampoline's code.
const TRAMPOLINE_SIZE: usize = 16;

const _: () = assert!((TRAMPOLINES * TRAMPOLINE_SIZE).is_multiple_of(PAGE));

/// What a trampoline loads.
#[repr(C)]
pub(crate) struct TrampolineRow {
    payload: AtomicUsize,
    target: AtomicUsize,
}

pub(crate) type TrampolineRows = [TrampolineRow; TRAMPOLINES];

static ROWS: WholePages<TrampolineRows> =
    WholePages([const { TrampolineRow { payload: AtomicUsize::new(0), target: AtomicUsize::new(0) } }; TRAMPOLINES]);

machine_code!(["trampoline"], {
    page = const PAGE,
    count = const TRAMPOLINES,
    size = const TRAMPOLINE_SIZE,
    rows = sym ROWS,
});

unsafe extern "C" {
    static qmpi_trampolines: u8;
    static qmpi_trampolines_end: u8;
}

/// The block that is in the library, without copies.
pub(crate) const fn blocks() -> Blocks<TrampolineRows> {
    // SAFETY: the text above is whole pages that only jump, by these rows; rows are atomic words, for which zeros are values.
    unsafe { Blocks::new(&raw const qmpi_trampolines, &raw const qmpi_trampolines_end, &ROWS) }
}

/// Makes the function `target` with `payload` in the register that stubs read it from (`arch/x86_64.rs`, `arch/aarch64.rs`).
///
/// Trampolines are never given back: a tool may keep their addresses for ever.
pub fn allocate<T: Sync>(target: Stub, payload: &'static T) -> usize {
    with_word(target, std::ptr::from_ref(payload).addr())
}

/// The same with a payload that is a plain word: for stubs that only need an address.
pub(crate) fn with_word(target: Stub, payload: usize) -> usize {
    static BLOCKS: Blocks<TrampolineRows> = blocks();
    let (block, index) = BLOCKS.take(TRAMPOLINES);
    let row = &block.rows[index];
    row.payload.store(payload, Ordering::Relaxed);
    // Nothing jumps through it before its address is given away.
    row.target.store(target as usize, Ordering::Release);
    block.code + index * TRAMPOLINE_SIZE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_tests::qmpi_test_payload;

    #[test]
    fn there_is_no_limit() {
        let count = 20 * TRAMPOLINES;
        let all: Vec<usize> = (0..count).map(|word| with_word(qmpi_test_payload, word)).collect();
        for (word, address) in all.into_iter().enumerate() {
            // SAFETY: a trampoline to the function, which returns its payload.
            let call = unsafe { std::mem::transmute::<usize, extern "C" fn() -> usize>(address) };
            assert_eq!(call(), word);
        }
    }
}
