//! The objects of the process: is one of them an MPI library, and which defines a name?
//!
//! Everything here runs inside of `dl_iterate_phdr`, under `ld.so`'s lock, so that no other thread unloads what is read.

use core::ffi::{CStr, c_void};

use qmpi_dynamic::objects::Info;
use qmpi_dynamic::{Asked, Mapped, hash, mpi};

use crate::process::{glibc, own};

/// The object, for a look at some names of MPI; `None` for objects that have to do with none: this library, the C library, `ld.so`
/// and the kernel's vDSO. They are in every process, and reading the tables of an object takes a microsecond.
pub(crate) fn mapped_unless_system(info: Info<'_>) -> Option<Mapped<'_>> {
    const WITHOUT_MPI: [&[u8]; 3] = [b"/libc.so.6", b"/ld-linux-x86-64.so.2", b"linux-vdso.so.1"];
    let name = info.name().to_bytes();
    let segments = info.segments();
    if WITHOUT_MPI.iter().any(|other| name.ends_with(other)) || segments.contains(own::address()) {
        return None;
    }
    Mapped::for_names(segments)
}

/// Shows `visit` the objects that were opened last, so many of them.
pub(crate) fn each_of_last(count: usize, visit: &mut dyn FnMut(&Mapped<'_>)) {
    let mut objects = 0_usize;
    glibc::find_object(|_| {
        objects += 1;
        None::<()>
    });
    let mut index = 0;
    glibc::find_object(|info| {
        if index >= objects.saturating_sub(count) {
            mapped_unless_system(info).iter().for_each(&mut *visit);
        }
        index += 1;
        None::<()>
    });
}

/// Is there an MPI library?
pub(crate) fn has_mpi() -> bool {
    glibc::find_object(|info| mapped_unless_system(info).filter(is_mpi).map(|_| ())).is_some()
}

/// Has the object MPI's profiling interface? A tool may define `PMPI_*` as well.
pub(crate) fn is_mpi(object: &Mapped<'_>) -> bool {
    mpi::implements(object.tables(), || object.tables().needed().map(CStr::to_bytes))
}

/// Does an object other than this library define the name?
pub(crate) fn defines(name: &CStr) -> bool {
    let hash = hash::gnu(name.to_bytes());
    glibc::find_object(|info| mapped_unless_system(info)?.find(name.to_bytes(), hash).map(|_| ())).is_some()
}

/// Does an object that `ld.so` searches before this library have a definition of the name for what asks?
pub(crate) fn defines_before_own(name: &CStr, asked: Asked<'_>) -> bool {
    let hash = hash::gnu(name.to_bytes());
    let found = glibc::find_object(|info| {
        if is_own(info) {
            return Some(false);
        }
        mapped_unless_system(info)?.tables().find_asked(name.to_bytes(), hash, asked).map(|_| true)
    });
    found == Some(true)
}

/// A function that an object defines.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FunctionDefinition {
    pub(crate) address: usize,
    pub(crate) has_version: bool,
}

/// The function of this name that `ld.so` finds behind this library for what asks: another preloaded tool's, or the MPI library's. Objects are
/// listed in the order of the search, as far as they were loaded with the program; those opened later come behind.
pub(crate) fn defined_behind_own(name: &CStr, asked: Asked<'_>) -> Option<FunctionDefinition> {
    let hash = hash::gnu(name.to_bytes());
    let mut is_behind = false;
    glibc::find_object(|info| {
        is_behind |= is_own(info);
        let object = if is_behind { mapped_unless_system(info)? } else { return None };
        let symbol = object.tables().find_asked(name.to_bytes(), hash, asked)?;
        let has_version = object.tables().version_index(symbol.index()).is_some_and(|index| index.number() >= 2);
        Some(FunctionDefinition { address: object.address(&symbol), has_version })
    })
}

/// The function of this name of an MPI library, wherever it was opened.
pub(crate) fn function_of_mpi(name: &CStr) -> Option<usize> {
    let hash = hash::gnu(name.to_bytes());
    // The name first: what an object refers to is looked at only where it has the name.
    glibc::find_object(|info| {
        let object = mapped_unless_system(info)?;
        let (_, address) = object.find(name.to_bytes(), hash)?;
        is_mpi(&object).then_some(address)
    })
}

/// Is the handle, of `dlopen`, that of the program?
pub(crate) fn is_program(handle: *mut c_void) -> bool {
    glibc::program().is_some_and(|map| core::ptr::eq(map, handle.cast()))
}

fn is_own(info: Info<'_>) -> bool {
    info.segments().contains(own::address())
}

/// The object that an address lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectOwner {
    /// This library.
    Own,
    /// Another object of the base namespace, which `ld.so` searches before this library.
    Before,
    /// One that it searches behind this library.
    Behind,
}

/// `None`: the address is not in the base namespace.
pub(crate) fn owner_of(address: usize) -> Option<ObjectOwner> {
    let mut others = ObjectOwner::Before;
    glibc::find_object(|info| {
        let is_own = is_own(info);
        if is_own {
            others = ObjectOwner::Behind;
        }
        info.segments().contains(address).then_some(if is_own { ObjectOwner::Own } else { others })
    })
}

/// Is the address in another object of the base namespace? A tool in a namespace has a `dlsym` of its own.
pub(crate) fn is_others(address: usize) -> bool {
    owner_of(address).is_some_and(|owner| owner != ObjectOwner::Own)
}
