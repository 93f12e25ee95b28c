//! A process with MPI and without a stack: calls go where they would go without this library.

use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, Ordering};

use qmpi_abi::FnId;
use qmpi_dynamic::rebind::{self, Which};
use qmpi_dynamic::relocation::Reference;
use qmpi_dynamic::{Asked, LinkerLock, Mapped};

use crate::exports::functions;
use crate::mpir;
use crate::process::{mpi_with_qmpi, objects, own, weak};

/// Whether a tool of the program has versions of a function: then references may ask for others than the entry stubs lead to.
static HAS_VERSIONS: AtomicBool = AtomicBool::new(false);

/// Points calls that are bound, or will be bound, to an entry stub past it, and clears weak references to functions that the MPI
/// library does not have.
pub(crate) fn enter(lock: &LinkerLock) {
    see_to(lock, usize::MAX, true);
}

/// The same for objects that were opened last, so many of them: calls use the stubs, as far as these lead to the right version.
pub(crate) fn enter_last(lock: &LinkerLock, count: usize) {
    see_to(lock, count, false);
}

/// Sees to all that the last `count` objects refer to, in one pass: it takes a microsecond to read the tables of an object.
fn see_to(lock: &LinkerLock, count: usize, all_calls: bool) {
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
    // Bound to an entry stub, or to the object's own PLT, which the first call leads to one. Anything else a tool has put there (GOTCHA).
    let is_bound_by_linker = |held: usize| object.segments().contains(held) || own::contains(held);
    let target = |reference: &Reference<'_>, held: &dyn Fn() -> usize| {
        if !functions::may_be_name(reference.name) {
            return None;
        }
        let version = object.tables().needed_version(reference.symbol);
        // Function pointers go through the stub, unless it leads to another version.
        if !meant(version) || !(reference.is_call || version.is_some()) {
            return None;
        }
        if functions::by_name(reference.name).is_none_or(mpir::watches) {
            return None;
        }
        if reference.is_call && !is_bound_by_linker(held()) {
            return None;
        }
        next(reference, version)
    };
    // SAFETY: the words hold addresses of functions.
    unsafe { rebind::rebind(lock, object, Which::All, functions::may_begin_name, target) };
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
    let name = name(id)?;
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

/// The C name of a function: that of its entry stub.
pub(crate) fn name(id: FnId) -> Option<&'static CStr> {
    let own: Mapped<'static> = own::mapped()?;
    let is_it = |address| functions::at(address) == Some(id);
    own.tables().symbols().find(|symbol| symbol.is_defined() && is_it(own.address(symbol)))?.name()
}
