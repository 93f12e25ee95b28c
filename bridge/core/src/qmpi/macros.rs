//! Functions that the `mpi.h` of this MPI has as macros only: QMPI tools get them all the same.
//!
//! The draft, "Requirements": "For routines implemented as macros, it is still required that the QMPI_ version be supplied and work as
//! expected, but the tools callback functions may never be called." The MPI library has no function to go on to, so these are
//! functions of this library, called as QMPI functions are. They are what comes last for QMPI tools only: to the program and to
//! PMPI tools the functions are missing, as without this library.

use std::ffi::{c_int, c_void};

use qmpi_abi::{Expression, FnId, MpiFamily};
use qmpi_loader::Process;

/// The function in the shape of QMPI, if this MPI has it as a macro and not as a function.
pub(crate) fn supplied(id: FnId, process: &Process) -> Option<usize> {
    // Few functions are a macro anywhere; the others are not worth a look at the process.
    MpiFamily::ALL.iter().find_map(|(family, _)| Expression::of(id, *family))?;
    let expression = Expression::of(id, process.family()?)?;
    process.real(id).is_none().then(|| function(expression))
}

fn function(expression: Expression) -> usize {
    match expression {
        Expression::Argument => argument as *const () as usize,
        Expression::Sum => sum as *const () as usize,
        Expression::Difference => difference as *const () as usize,
    }
}

/// Of a handle: what is behind the lower half of the register does not matter to a caller whose handles are `int`.
extern "C" fn argument(_context: *mut c_void, _tool: c_int, word: usize) -> usize {
    word
}

extern "C" fn sum(_context: *mut c_void, _tool: c_int, left: usize, right: usize) -> usize {
    left.wrapping_add(right)
}

extern "C" fn difference(_context: *mut c_void, _tool: c_int, left: usize, right: usize) -> usize {
    left.wrapping_sub(right)
}
