//! A process with MPI and without a stack: calls go where they would go without this library.

use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, Ordering};

use qmpi_abi::{ABORT, FnId};
use qmpi_dynamic::rebind;
use qmpi_dynamic::relocation::Reference;
use qmpi_dynamic::{Asked, LinkerLock, Mapped};

use crate::process::{environment, objects, own};
use crate::references::{is_bound_by_linker, mpi_with_qmpi, weak};

/// Whether a tool of the program has versions of a function: then references may ask for others than the entry stubs lead to.
static HAS_VERSIONS: AtomicBool = AtomicBool::new(false);

/// Sees to all that the objects which were opened last, so many of them, refer to: in one pass, since it takes a microsecond to read the tables
/// of an object. Weak references to functions that the MPI library does not have are cleared. With `all_calls`, those that are bound, or will be
/// bound, to an entry stub go past it; else they use the stubs, as far as these lead to the right version.
pub(crate) fn enter(lock: &LinkerLock, count: usize, all_calls: bool) {
    let mut has_qmpi = false;
    objects::each_of_last(count, &mut |object| {
        weak::clear(lock, object);
        if all_calls {
            bind(lock, object, |_| true);
        } else if HAS_VERSIONS.load(Ordering::Relaxed) {
            bind(lock, object, |version| version.is_some());
        }
        has_qmpi |= mpi_with_qmpi::is_it(object);
    });
    mpi_with_qmpi::pass_by(lock, count, has_qmpi);
}

/// Binds references of an object whose version, if any, is among those that are `meant`.
#[expect(unsafe_code, reason = "rebinds calls of MPI")]
fn bind(lock: &LinkerLock, object: &Mapped<'_>, meant: fn(Option<&CStr>) -> bool) {
    // A debugger wants to see calls of MPI_Abort.
    let is_watched = |id: FnId| id == ABORT && environment::is_under_mpir();
    let target = |reference: &Reference<'_>, held: &dyn Fn() -> usize| {
        if !own::may_be_function(reference.name) {
            return None;
        }
        let version = object.tables().needed_version(reference.symbol);
        // Function pointers go through the stub, unless it leads to another version.
        if !meant(version) || !(reference.is_call || version.is_some()) {
            return None;
        }
        if own::function(reference.name).is_none_or(is_watched) {
            return None;
        }
        if reference.is_call && !is_bound_by_linker(object, held()) {
            return None;
        }
        next(reference, version)
    };
    // SAFETY: the words hold addresses of functions.
    unsafe { rebind::rebind(lock, object, own::may_begin_function, target) };
}

/// Where a reference leads without this library; `None` if it does not come to it, or may stay. A function pointer stays where the
/// stub leads to the same place, so that all are equal.
fn next(reference: &Reference<'_>, version: Option<&CStr>) -> Option<usize> {
    let asked = Asked::Reference(version.map(CStr::to_bytes));
    if objects::defines_before_own(reference.name, asked) {
        return None;
    }
    let definition = objects::defined_behind_own(reference.name, asked)?;
    if definition.has_version {
        HAS_VERSIONS.store(true, Ordering::Relaxed);
    }
    let may_stay = || oldest(reference.name) == Some(definition.address);
    (reference.is_call || !may_stay()).then_some(definition.address)
}

/// Where calls of the function go without this library that come to its entry stub.
pub(crate) fn function(id: FnId) -> Option<usize> {
    let name = own::name_of(id)?;
    oldest(name).or_else(|| objects::function_of_mpi(name))
}

/// What a reference without a version gets.
fn oldest(name: &CStr) -> Option<usize> {
    Some(objects::defined_behind_own(name, Asked::Reference(None))?.address)
}

/// What `dlsym` finds without this library, if that is another function than a reference gets.
pub(crate) fn newest(name: &CStr) -> Option<usize> {
    let newest = objects::defined_behind_own(name, Asked::Dlsym).filter(|definition| definition.has_version)?;
    (oldest(name) != Some(newest.address)).then_some(newest.address)
}
