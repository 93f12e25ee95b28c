//! `dlsym` as the process calls it: ours, exported, which ends in a jump to glibc's (`arch/x86_64.rs`).
//!
//! It hides what only libqmpi has (`lacking.rs`), and notices libraries that were opened since the last call (`late.rs`).
#![expect(unsafe_code, reason = "stands before dlsym")]

use std::ffi::{CStr, c_char, c_void};

use qmpi_abi::FnId;
use qmpi_loader::{dlsym, log};

use crate::lacking::Object;
use crate::{entry, lacking, late, start};

/// What [`decide`] answers: with which handle to go on, and where.
#[repr(C)]
pub(crate) struct Lookup {
    handle: *mut c_void,
    real: dlsym::Dlsym,
}

/// `dlsym(handle, name)` by `caller`, the return address of the call.
pub(crate) extern "C" fn decide(handle: *mut c_void, name: *const c_char, caller: usize) -> Lookup {
    let lookup = |handle| Lookup { handle, real: dlsym::real() };
    if name.is_null() {
        return lookup(handle);
    }
    // SAFETY: `dlsym` wants a C string.
    let name = unsafe { CStr::from_ptr(name) };
    late::look();
    let Some(id) = entry::plain_id(name) else { return lookup(handle) };
    // A tool in a namespace has a `dlsym` of its own.
    if lacking::object_of(caller) != Some(Object::Other) {
        return lookup(handle);
    }
    lookup(if would_be_found(handle, id, name) { handle } else { without_mpi() })
}

/// Would the process find the function without us?
fn would_be_found(handle: *mut c_void, id: FnId, name: &CStr) -> bool {
    // Which object comes next depends on who asks; but only one that comes before us finds us.
    let asked = if handle == libc::RTLD_NEXT { libc::RTLD_DEFAULT } else { handle };
    // SAFETY: `name` is a C string; we are the caller, and have objects after us.
    let behind_us = || unsafe { !dlsym::real()(libc::RTLD_NEXT, name.as_ptr()).is_null() };
    if !lacking::is_ours(asked, name) || behind_us() {
        return true;
    }
    // MPI may have been opened for one library only; the layers are there for all.
    start::before_first_call();
    lacking::is_intercepted(id)
}

/// A handle in which no function of MPI is found: that of the C library.
fn without_mpi() -> *mut c_void {
    // SAFETY: the C library is loaded; no constructor can run.
    let handle = unsafe { libc::dlopen(c"libc.so.6".as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
    if handle.is_null() { log::fatal("the C library is not named libc.so.6", None) } else { handle }
}
