//! The objects of the process: is one of them an MPI library, and which defines a name?
//!
//! Everything here runs inside of `dl_iterate_phdr`, under `ld.so`'s lock, so that no other thread unloads what is read.

use core::ffi::CStr;

use qmpi_dynamic::{Kind, Mapped, hash};

use crate::{glibc, own};

/// Is there an MPI library?
pub(crate) fn has_mpi() -> bool {
    glibc::find_object(|info| Mapped::of(info).filter(is_mpi).map(|_| ())).is_some()
}

/// Has the object MPI's profiling interface? A tool may define `PMPI_Init` as well: it looks up what comes next.
fn is_mpi(object: &Mapped<'_>) -> bool {
    const NAME: &[u8] = b"PMPI_Init";
    let defines = object.find(NAME, hash::gnu(NAME)).is_some_and(|(symbol, _)| symbol.kind() != Kind::Data);
    let looks_up = || object.tables().undefined().any(|symbol| symbol.is_named(b"dlsym"));
    defines && (object.soname().is_some_and(|name| name.to_bytes().starts_with(b"libmpi")) || !looks_up())
}

/// Does an object other than this library define the name?
pub(crate) fn defines(name: &CStr) -> bool {
    let hash = hash::gnu(name.to_bytes());
    let other = |object: &Mapped<'_>| !is_own(object);
    glibc::find_object(|info| Mapped::of(info).filter(other)?.find(name.to_bytes(), hash).map(|_| ())).is_some()
}

/// Does an object that `ld.so` searches before this library define the name?
pub(crate) fn defines_before_own(name: &CStr) -> bool {
    let hash = hash::gnu(name.to_bytes());
    let found = glibc::find_object(|info| {
        let object = Mapped::of(info)?;
        if is_own(&object) { Some(false) } else { object.find(name.to_bytes(), hash).map(|_| true) }
    });
    found == Some(true)
}

/// The function of this name that `ld.so` finds behind this library: another preloaded tool's, or the MPI library's. Objects are
/// listed in the order of the search, as far as they were loaded with the program; those opened later come behind.
pub(crate) fn defined_behind_own(name: &CStr) -> Option<usize> {
    let hash = hash::gnu(name.to_bytes());
    let mut is_behind = false;
    glibc::find_object(|info| {
        let object = Mapped::of(info)?;
        if is_own(&object) {
            is_behind = true;
            return None;
        }
        object.find(name.to_bytes(), hash).filter(|_| is_behind).map(|(_, address)| address)
    })
}

/// The function of this name of an MPI library, wherever it was opened.
pub(crate) fn function_of_mpi(name: &CStr) -> Option<usize> {
    let hash = hash::gnu(name.to_bytes());
    glibc::find_object(|info| Some(Mapped::of(info).filter(is_mpi)?.find(name.to_bytes(), hash)?.1))
}

/// Is it this library?
pub(crate) fn is_own(object: &Mapped<'_>) -> bool {
    object.segments().contains(own::address())
}

/// Whose object an address lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// This library.
    Own,
    /// Another object of the base namespace.
    Other,
}

/// `None`: the address is not in the base namespace.
pub(crate) fn owner_of(address: usize) -> Option<Owner> {
    glibc::find_object(|info| {
        let object = Mapped::of(info).filter(|object| object.segments().contains(address))?;
        Some(if is_own(&object) { Owner::Own } else { Owner::Other })
    })
}
