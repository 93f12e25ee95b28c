//! Links for Fortran calls.
//!
//! A Fortran call of the application goes to the first layer that intercepts the function: to its Fortran wrapper, if it has
//! one, else through MPI's Fortran library, which calls C. A wrapper goes on with `pmpi_f_`; what MPI's Fortran library then
//! calls in C must enter the chain *below* the wrapper's layer, not at the top again.

use crate::arch::{self, Resume};
use crate::conversion::Arity;
use crate::error::LoadError;
use crate::trampoline;

/// A link from a tool to MPI's Fortran library: C functions called from there enter the chain below `level` layers.
///
/// # Errors
/// When no further stubs can be mapped.
pub fn resume(target: usize, level: usize) -> Result<usize, LoadError> {
    trampoline::allocate(arch::fortran_resume(), Box::leak(Box::new(Resume { target, level })))
}

/// A link from MPI's Fortran library to a C function of this arity: `links[level]` is the one below `level` layers.
///
/// # Errors
/// When no further stubs can be mapped.
pub fn to_c(links: Vec<usize>, arity: Arity) -> Result<usize, LoadError> {
    let table: &'static [usize] = Box::leak(links.into_boxed_slice());
    trampoline::with_word(arch::fortran_to_c(arity), table.as_ptr().addr())
}
