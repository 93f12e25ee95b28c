//! Which names are MPI's.

use core::ffi::CStr;

/// Is it a name of MPI, whether the table has it or not?
pub fn is_mpi_function(name: &str) -> bool {
    // The table first: it has nearly all of them, and to find one takes less time than to look at the shape of its name.
    qmpi_abi::classify(name).is_some() || qmpi_abi::is_mpi_like(name)
}

/// The same for a C string.
pub fn is_mpi_function_c(name: &CStr) -> bool {
    qmpi_abi::classify_c(name).is_some() || name.to_str().is_ok_and(qmpi_abi::is_mpi_like)
}
