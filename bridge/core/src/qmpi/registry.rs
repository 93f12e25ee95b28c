//! Names that tools registered, with their init callbacks.

use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

use super::class::Class;

/// `MPI_Tool_init_function`.
pub(super) type Init = extern "C" fn(c_int);

/// MPICH's `QMPI_MAX_TOOL_NAME_LENGTH`, the terminating NUL included.
const MAX_NAME: usize = 256;

struct Registry {
    names: Vec<(String, Init)>,
    /// Names that were taken already when they were registered again.
    refused: Vec<String>,
    is_closed: bool,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { names: Vec::new(), refused: Vec::new(), is_closed: false });

/// Registers a name; it must be new, and tools must not have been initialized yet.
pub(super) fn register(name: &str, init: Init) -> Class {
    let mut registry = lock();
    if registry.is_closed {
        return Class::Other;
    }
    // A name must be able to stand in a tool list.
    let unusable = name.is_empty() || name.len() >= MAX_NAME || name.contains([',', ':', '=', '/']);
    if unusable {
        return Class::Arg;
    }
    if registry.names.iter().any(|(known, _)| known == name) {
        registry.refused.push(name.into());
        return Class::Arg;
    }
    registry.names.push((name.into(), init));
    Class::Success
}

/// The init callback behind a name.
pub(super) fn find(name: &str) -> Option<Init> {
    lock().names.iter().find(|(known, _)| known == name).map(|(_, init)| *init)
}

/// How many names there are: those that a library registers come after this many.
pub(super) fn len() -> usize {
    lock().names.len()
}

/// The names registered after the first `count`.
pub(super) fn names_after(count: usize) -> Vec<String> {
    lock().names.iter().skip(count).map(|(name, _)| name.clone()).collect()
}

/// Takes the names that were refused since this was asked last.
pub(super) fn take_refused() -> Vec<String> {
    std::mem::take(&mut lock().refused)
}

/// Libraries of another stack are about to be loaded: their constructors register names.
pub(super) fn open() {
    lock().is_closed = false;
}

/// No registration from here on.
pub(super) fn close() {
    lock().is_closed = true;
}

fn lock() -> std::sync::MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}
