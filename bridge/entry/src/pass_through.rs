//! A process with MPI and without a stack: calls go where they would go without this library.

use core::ffi::CStr;

use qmpi_abi::FnId;
use qmpi_dynamic::Mapped;
use qmpi_dynamic::rebind::{self, Which};

use crate::exports::functions;
use crate::process::{glibc, objects, own, weak};

/// Points calls that are bound, or will be bound, to an entry stub past it, and clears weak references to functions that the MPI
/// library does not have.
#[expect(unsafe_code, reason = "rebinds calls of MPI")]
pub(crate) fn enter() {
    weak::clear_in_all();
    glibc::find_object(|info| {
        let object = objects::look_at(info)?;
        // SAFETY: the object stays as long as this closure runs; the words are for calls only.
        unsafe { rebind::rebind(&object, Which::Calls, |name, _| next(name)) };
        None::<()>
    });
}

/// Where calls of this name go without this library; `None` if they do not come to it.
fn next(name: &CStr) -> Option<usize> {
    functions::by_name(name)?;
    if objects::defines_before_own(name) { None } else { objects::defined_behind_own(name) }
}

/// Where calls of the function go without this library.
pub(crate) fn function(id: FnId) -> Option<usize> {
    let name = name(id)?;
    objects::defined_behind_own(name).or_else(|| objects::function_of_mpi(name))
}

/// The C name of a function: that of its entry stub.
fn name(id: FnId) -> Option<&'static CStr> {
    let own: Mapped<'static> = own::mapped()?;
    let is_it = |address| functions::at(address) == Some(id);
    own.tables().symbols().find(|symbol| symbol.is_defined() && is_it(own.address(symbol)))?.name()
}
