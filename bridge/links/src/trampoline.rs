//! Trampolines: each is a function of its own that carries one word of data.
//!
//! They exist so that one shim can serve many instances: the word says for which one it is called. There are as many as are needed
//! (`blocks.rs`).

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::arch::{self, Stub};
use crate::blocks::Blocks;
use crate::error::StubError;

/// Makes the function `target` with `payload` in the register that the shims of [`arch`] read it from.
///
/// Trampolines are never given back: a tool may keep their addresses for ever.
///
/// # Errors
/// When no further trampolines can be mapped.
pub fn allocate<T: Sync>(target: Stub, payload: &'static T) -> Result<usize, StubError> {
    with_word(target, std::ptr::from_ref(payload).addr())
}

/// The same with a payload that is a plain word: for stubs that only need an address.
///
/// # Errors
/// When no further trampolines can be mapped.
pub(crate) fn with_word(target: Stub, payload: usize) -> Result<usize, StubError> {
    #![expect(unsafe_code, reason = "fills in a row of the table that machine code jumps through")]
    static BLOCKS: Blocks = Blocks::new(arch::trampolines);
    static TAKEN: AtomicUsize = AtomicUsize::new(0);
    let number = TAKEN.fetch_add(1, Ordering::Relaxed);
    let block = BLOCKS.get(number / arch::TRAMPOLINES).map_err(StubError)?;
    // SAFETY: the counter hands out each number once; shims come with the type of their payload.
    Ok(unsafe { arch::set_trampoline(block, number % arch::TRAMPOLINES, target as usize, payload) })
}

#[cfg(test)]
mod tests {
    #![expect(unsafe_code, reason = "calls trampolines")]
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// Returns the payload.
    #[unsafe(naked)]
    extern "C" fn payload() {
        std::arch::naked_asm!(arch::in_tests::return_payload!())
    }

    #[test]
    fn there_is_no_limit() {
        let count = 20 * arch::TRAMPOLINES;
        let all: Vec<usize> = (0..count).map(|word| with_word(payload, word).unwrap()).collect();
        for (word, address) in all.into_iter().enumerate() {
            // SAFETY: a trampoline to the function above.
            let call = unsafe { std::mem::transmute::<usize, extern "C" fn() -> usize>(address) };
            assert_eq!(call(), word);
        }
    }
}
