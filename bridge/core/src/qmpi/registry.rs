//! Names that tools registered, with their init callbacks.

use qmpi_ring::core_functions::Init;
use qmpi_system::Locked;

use super::mpi::{self, Class};

/// MPICH's `QMPI_MAX_TOOL_NAME_LENGTH`, the terminating NUL included.
const MAX_NAME: usize = 256;

struct Registry {
    names: Vec<(String, Init)>,
    /// Names that were taken already when they were registered again.
    refused: Vec<String>,
    phase: Phase,
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

static REGISTRY: Locked<Registry> = Locked::new(Registry { names: Vec::new(), refused: Vec::new(), phase: Phase::Any });

/// Registers a name; it must be new, and the initialization of MPI must not have begun.
pub(crate) fn register(name: &str, init: Init) -> Result<(), Class> {
    // Asks the MPI library, so no lock is held.
    let has_begun = mpi::initialization_has_begun();
    let mut registry = REGISTRY.lock();
    if registry.phase == Phase::Callbacks || registry.phase == Phase::Any && has_begun {
        return Err(Class::Other);
    }
    // A name must be able to stand in a tool list.
    if name.is_empty() || name.len() >= MAX_NAME || name.contains([',', ':', '=', '/']) {
        return Err(Class::Arg);
    }
    if registry.names.iter().any(|(known, _)| known == name) {
        registry.refused.push(name.into());
        return Err(Class::Arg);
    }
    registry.names.push((name.into(), init));
    Ok(())
}

/// The init callback behind a name.
pub(super) fn find(name: &str) -> Option<Init> {
    REGISTRY.lock().names.iter().find(|(known, _)| known == name).map(|(_, init)| *init)
}

/// Is this name registered already?
pub(crate) fn is_registered(name: &str) -> bool {
    find(name).is_some()
}

/// All names.
pub(crate) fn names() -> Vec<String> {
    REGISTRY.lock().names.iter().map(|(name, _)| name.clone()).collect()
}

/// The addresses of all init callbacks.
pub(crate) fn callbacks() -> Vec<usize> {
    REGISTRY.lock().names.iter().map(|(_, init)| *init as *const () as usize).collect()
}

/// The names that are registered while `work` is done, and those that were taken already.
pub(super) fn registered_by<T>(work: impl FnOnce() -> T) -> (T, Vec<String>, Vec<String>) {
    let count = {
        let mut registry = REGISTRY.lock();
        registry.refused.clear();
        registry.names.len()
    };
    let result = work();
    let names = names().split_off(count);
    (result, names, std::mem::take(&mut REGISTRY.lock().refused))
}

/// Lets libraries of another stack, which are about to be loaded, register names until init callbacks run.
pub(crate) fn open() {
    REGISTRY.lock().phase = Phase::Loading;
}

/// Init callbacks run while `work` is done: no registration meanwhile.
pub(super) fn closed<T>(work: impl FnOnce() -> T) -> T {
    REGISTRY.lock().phase = Phase::Callbacks;
    let result = work();
    REGISTRY.lock().phase = Phase::Any;
    result
}
