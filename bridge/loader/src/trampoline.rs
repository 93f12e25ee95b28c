//! The pool of trampolines: each is a function of its own that carries one word of data.
//!
//! They exist so that one shim can serve many instances: the word says for whom it is called.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::arch::{self, Stub};
use crate::error::LoadError;

/// Makes the function `target` with `payload` in the register that the shims of [`arch`] read it from.
///
/// Trampolines are never given back: a tool may keep their addresses for ever.
///
/// # Errors
/// When the pool is used up.
pub(crate) fn allocate<T: Sync>(target: Stub, payload: &'static T) -> Result<usize, LoadError> {
    with_word(target, std::ptr::from_ref(payload).addr())
}

/// The same with a payload that is a plain word: for stubs that only need an address.
///
/// # Errors
/// When the pool is used up.
pub(crate) fn with_word(target: Stub, payload: usize) -> Result<usize, LoadError> {
    #![expect(unsafe_code, reason = "fills in a row of the table that machine code jumps through")]
    static TAKEN: AtomicUsize = AtomicUsize::new(0);
    let index = TAKEN.fetch_add(1, Ordering::Relaxed);
    if index >= arch::TRAMPOLINES {
        return Err(LoadError::Trampolines);
    }
    // SAFETY: the counter hands out each index once; shims come with the type of their payload.
    Ok(unsafe { arch::set_trampoline(index, target as usize, payload) })
}
