//! `dlsym` as the process calls it: ours, exported, which ends in a jump to glibc's (`arch/`).
//!
//! It hides functions that only this library has, and notices libraries that were opened since the last call. Before this
//! library's constructor has run it goes on at once: sanitizers call it when nothing is set up.
#![expect(unsafe_code, reason = "stands before dlsym")]

use core::ffi::{CStr, c_char, c_void};

use qmpi_abi::FnId;
use qmpi_ring::ring::Dlsym;

use crate::exports::functions;
use crate::process::objects::Owner;
use crate::process::{glibc, objects, opened};
use crate::ring::RING;
use crate::{message, start};

/// What [`decide`] answers: with which handle to go on, and where.
#[repr(C)]
pub(crate) struct Lookup {
    handle: *mut c_void,
    real: Dlsym,
}

/// `dlsym(handle, name)` by `caller`, the return address of the call.
pub(crate) extern "C" fn decide(handle: *mut c_void, name: *const c_char, caller: usize) -> Lookup {
    let lookup = |handle| Lookup { handle, real: glibc::dlsym() };
    if name.is_null() || !start::is_loaded() {
        return lookup(handle);
    }
    opened::look();
    // SAFETY: `dlsym` wants a C string.
    let name = unsafe { CStr::from_ptr(name) };
    let Some(id) = functions::by_name(name) else { return lookup(handle) };
    // A tool in a namespace has a `dlsym` of its own.
    if objects::owner_of(caller) != Some(Owner::Other) {
        return lookup(handle);
    }
    lookup(if would_be_found(handle, id, name) { handle } else { without_mpi() })
}

/// Would the process find the function without this library?
fn would_be_found(handle: *mut c_void, id: FnId, name: &CStr) -> bool {
    // Which object comes next depends on the caller; but only one that comes before this library finds it.
    let asked = if handle == libc::RTLD_NEXT { libc::RTLD_DEFAULT } else { handle };
    // SAFETY: `name` is a C string; the handle came from the caller of `dlsym`, who vouches for it.
    let found = unsafe { glibc::dlsym()(asked, name.as_ptr()) };
    // SAFETY: as above; the caller is this library, and has objects behind it.
    let behind_own = || unsafe { !glibc::dlsym()(libc::RTLD_NEXT, name.as_ptr()).is_null() };
    if functions::at(found.addr()).is_none() || behind_own() {
        return true;
    }
    // MPI may have been opened for one library only; the layers are there for all.
    start::before_first_call();
    RING.is_intercepted(id)
}

/// A handle in which no function of MPI is found: that of the C library.
fn without_mpi() -> *mut c_void {
    // SAFETY: the C library is loaded; no constructor can run.
    let handle = unsafe { glibc::dlopen()(c"libc.so.6".as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
    if handle.is_null() { message::fatal(&["the C library is not named libc.so.6"], None) } else { handle }
}
