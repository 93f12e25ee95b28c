//! Weak references to functions of MPI that this process has not got.
//!
//! This library defines every function there is. A program asks by a weak reference whether a function exists: it is null if
//! nothing defines it. References that `ld.so` has bound to an entry stub here, and that would be null without this library,
//! are made null again.
#![expect(unsafe_code, reason = "rebinds references")]

use core::ffi::CStr;

use qmpi_abi::FnId;
use qmpi_dynamic::rebind::{self, Which};
use qmpi_dynamic::{LinkerLock, Mapped, Symbol};

use crate::exports::functions;
use crate::process::objects;
use crate::ring::RING;

/// Clears the references of all objects.
pub(crate) fn clear_in_all(lock: &LinkerLock) {
    objects::each_of_last(usize::MAX, &mut |object| clear(lock, object));
}

/// Clears the references of an object.
pub(crate) fn clear(lock: &LinkerLock, object: &Mapped<'_>) {
    let mut weak = object.tables().undefined().filter(Symbol::is_weak);
    if weak.any(|symbol| symbol.name().is_some_and(functions::may_be_name)) {
        // SAFETY: a weak reference is looked at where it is used.
        unsafe {
            rebind::rebind(lock, object, Which::Weak, functions::may_begin_name, |reference, value| {
                is_unsupported(reference.name, value()).then_some(0)
            })
        };
    }
}

/// Is the reference, whose value is `value`, bound to an entry stub of a function that neither MPI nor a layer has?
fn is_unsupported(name: &CStr, value: usize) -> bool {
    functions::at(value).is_some_and(|id| !is_there(id, name))
}

/// Would the process find the function without this library, or in a layer?
fn is_there(id: FnId, name: &CStr) -> bool {
    RING.get(id).is_some() || RING.is_intercepted(id) || objects::defines(name)
}
