//! Weak references to functions of MPI that this process has not got.
//!
//! This library defines every function there is. A program asks by a weak reference whether a function exists: it is null if
//! nothing defines it. References that `ld.so` has bound to an entry stub here, and that would be null without this library,
//! are made null again.
#![expect(unsafe_code, reason = "rebinds references")]

use qmpi_dynamic::rebind;
use qmpi_dynamic::{LinkerLock, Mapped, Symbol};

use crate::process::{objects, own};
use crate::ring::RING;

/// Clears the references of the objects that were opened last, so many of them.
pub(crate) fn clear_in_last(lock: &LinkerLock, count: usize) {
    objects::each_of_last(count, &mut |object| clear(lock, object));
}

/// Clears the references of an object.
pub(crate) fn clear(lock: &LinkerLock, object: &Mapped<'_>) {
    let mut weak = object.tables().undefined().filter(Symbol::is_weak);
    if weak.any(|symbol| symbol.name().is_some_and(own::may_be_function)) {
        // SAFETY: nothing has remembered the words: a program compares a weak reference with null wherever it uses it.
        unsafe {
            rebind::rebind(lock, object, own::may_begin_function, |reference, value| {
                let id = if reference.is_weak { own::function_at(value())? } else { return None };
                let is_there = RING.get(id).is_some() || RING.is_intercepted(id) || objects::defines(reference.name);
                (!is_there).then_some(0)
            })
        };
    }
}
