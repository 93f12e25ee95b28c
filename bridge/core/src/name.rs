//! C names of functions of MPI.

use std::ffi::CStr;

use qmpi_abi::FnId;

/// The function of an unshifted name, `MPI_f`; most names are told apart by their first letters.
pub(crate) fn plain_id(name: &CStr) -> Option<FnId> {
    let shape = name.to_bytes().starts_with(b"MPI") || name.to_bytes().starts_with(b"OMPI_");
    shape.then(|| FnId::by_name(name.to_str().ok()?)).flatten()
}

/// May a name with this beginning be one of those that [`plain_id`] knows?
pub(crate) fn may_be_plain(start: [u8; 4]) -> bool {
    start.starts_with(b"MPI") || start == *b"OMPI"
}

/// The function of a `PMPI_f`.
pub(crate) fn profiling_id(name: &CStr) -> Option<FnId> {
    if !name.to_bytes().starts_with(b"PMPI") {
        return None;
    }
    qmpi_abi::classify_c(name).filter(|symbol| symbol.profiling)?.c_function()
}
