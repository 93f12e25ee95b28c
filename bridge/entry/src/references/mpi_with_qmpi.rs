//! An MPI library that has QMPI itself: MPICH, built with `--enable-qmpi`.
//!
//! Its `PMPI_f` starts that library's own chain of tools, which ends in its `QMPI_f`. It refers to `QMPI_f` by name, and this
//! library exports the same names in front of it: these references get what they have without this library. What tools call by such
//! a name goes to the MPI library's `QMPI_f` as well, which has the same arguments.
#![expect(unsafe_code, reason = "rebinds references")]

use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use qmpi_abi::FnId;
use qmpi_dynamic::mpi::ONLY_WITH_QMPI;
use qmpi_dynamic::rebind;
use qmpi_dynamic::relocation::Reference;
use qmpi_dynamic::{LinkerLock, Mapped, hash};

use crate::process::{environment, objects, own};
use crate::references::is_bound_by_linker;

/// "Q", and the longest name of MPI with its end.
const ROOM: usize = 80;

/// The name-shifted function of the MPI library.
pub(crate) fn shifted(id: FnId) -> Option<usize> {
    let name = own::name_of(id)?.to_bytes_with_nul();
    let mut shifted = [0; ROOM];
    let (first, rest) = shifted.split_first_mut()?;
    *first = b'Q';
    rest.get_mut(..name.len())?.copy_from_slice(name);
    objects::function_of_mpi(CStr::from_bytes_until_nul(&shifted).ok()?)
}

/// Is there no stack, and an MPI library with QMPI, which then answers the tools?
pub(crate) fn is_without_stack() -> bool {
    static IS_KNOWN: AtomicBool = AtomicBool::new(false);
    if !IS_KNOWN.load(Ordering::Relaxed) {
        if environment::names_a_stack() || objects::function_of_mpi(ONLY_WITH_QMPI).is_none() {
            return false;
        }
        IS_KNOWN.store(true, Ordering::Relaxed);
    }
    true
}

/// A function of the MPI library's own QMPI, if it has that. `place` keeps it.
pub(crate) fn own_function(name: &CStr, place: &AtomicUsize) -> Option<usize> {
    let known = place.load(Ordering::Relaxed);
    if known != 0 {
        return Some(known);
    }
    objects::function_of_mpi(ONLY_WITH_QMPI)?;
    let address = objects::function_of_mpi(name)?;
    place.store(address, Ordering::Relaxed);
    Some(address)
}

/// Leads the MPI library's own references to its QMPI functions back to them, in the objects that were opened last, so many of them.
pub(crate) fn keep_its_own(lock: &LinkerLock, count: usize) {
    objects::each_of_last(count, &mut |object| {
        if is_it(object) {
            rebind(lock, object, &|name| find(object, name));
        }
    });
}

/// Where there is no stack: leads references of the objects that were opened last, so many of them, to the MPI library, if one of them is such
/// a library or another was before.
pub(crate) fn pass_by(lock: &LinkerLock, count: usize, is_one: bool) {
    static IS_THERE: AtomicBool = AtomicBool::new(false);
    if is_one {
        IS_THERE.store(true, Ordering::Relaxed);
    }
    if IS_THERE.load(Ordering::Relaxed) {
        objects::each_of_last(count, &mut |object| rebind(lock, object, &objects::function_of_mpi));
    }
}

/// Is the object such an MPI library? Nearly no object has the name; whether one is an MPI library takes a look at all that it refers to.
pub(crate) fn is_it(object: &Mapped<'_>) -> bool {
    find(object, ONLY_WITH_QMPI).is_some() && objects::is_mpi(object)
}

fn find(object: &Mapped<'_>, name: &CStr) -> Option<usize> {
    Some(object.find(name.to_bytes(), hash::gnu(name.to_bytes()))?.1)
}

/// Points references to functions of QMPI that `ld.so` has bound to this library, or will, to what `target` says.
fn rebind(lock: &LinkerLock, object: &Mapped<'_>, target: &dyn Fn(&CStr) -> Option<usize>) {
    let target = |reference: &Reference<'_>, held: &dyn Fn() -> usize| {
        let is_meant = reference.name.to_bytes().starts_with(b"QMPI_") && is_bound_by_linker(object, held());
        is_meant.then(|| target(reference.name)).flatten()
    };
    // SAFETY: the words hold addresses of functions.
    unsafe { rebind::rebind(lock, object, |start| start == *b"QMPI", target) };
}
