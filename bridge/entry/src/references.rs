//! References of the process's objects to functions of MPI: this library changes those that would lead elsewhere without it.

use qmpi_dynamic::Mapped;

use crate::process::own;

pub(crate) mod mpi_with_qmpi;
pub(crate) mod opened;
pub(crate) mod pass_through;
mod weak;

/// Is `held`, the word of a reference of this object, what `ld.so` has stored: an address in this library, or in the object's own PLT, by which
/// the first call comes here? A tool has put anything else there (GOTCHA).
fn is_bound_by_linker(object: &Mapped<'_>, held: usize) -> bool {
    object.segments().contains(held) || own::contains(held)
}
