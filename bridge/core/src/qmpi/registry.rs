//! Names that tools registered, with their init callbacks.

use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

use super::class::Class;
use super::initialization;

/// `MPI_Tool_init_function`.
pub(super) type Init = extern "C" fn(c_int);

/// MPICH's `QMPI_MAX_TOOL_NAME_LENGTH`, the terminating NUL included.
const MAX_NAME: usize = 256;

struct Registry {
    names: Vec<(String, Init)>,
    /// Names that were taken already when they were registered again.
    refused: Vec<String>,
    moment: Phase,
}

/// What is going on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing that decides: names are accepted until the initialization of MPI begins.
    Any,
    /// Libraries of a named stack are being loaded, after MPI is initialized as a rule.
    Loading,
    /// Init callbacks run: what they may do is not this.
    Callbacks,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { names: Vec::new(), refused: Vec::new(), moment: Phase::Any });

/// Registers a name; it must be new, and the initialization of MPI must not have begun.
pub(super) fn register(name: &str, init: Init) -> Class {
    // Asks the MPI library, so no lock is held.
    let has_begun = initialization::has_begun();
    let mut registry = lock();
    match registry.moment {
        Phase::Callbacks => return Class::Other,
        Phase::Any if has_begun => return Class::Other,
        Phase::Any | Phase::Loading => {}
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

/// All init callbacks.
pub(super) fn callbacks() -> impl Iterator<Item = Init> {
    let callbacks: Vec<Init> = lock().names.iter().map(|(_, init)| *init).collect();
    callbacks.into_iter()
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
    lock().moment = Phase::Loading;
}

/// Init callbacks run while `work` is done: no registration meanwhile.
pub(super) fn closed<T>(work: impl FnOnce() -> T) -> T {
    lock().moment = Phase::Callbacks;
    let result = work();
    lock().moment = Phase::Any;
    result
}

fn lock() -> std::sync::MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}
