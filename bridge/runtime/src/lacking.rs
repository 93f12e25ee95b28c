//! Functions that the process's MPI library lacks. libqmpi defines every function there is, and a program must not find one
//! by that which it would not find without us.
//!
//! Programs ask in two ways. A *weak reference* is null if nobody defines the function: those that `ld.so` bound to us are
//! made null again. And `dlsym`: the process gets ours, which fails for such a name as glibc's does.
#![expect(unsafe_code, reason = "stands before dlsym")]

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use qmpi_abi::FnId;
use qmpi_loader::image::{self, Image};
use qmpi_loader::rebind::{self, Which};
use qmpi_loader::{dlsym, log, objects};

use crate::{base, entry, late, start};

/// Makes weak references in `images` to what is lacking null.
pub(crate) fn forget<'a>(images: impl IntoIterator<Item = &'a Image>) {
    for image in images {
        if entry::is_ours(image) {
            continue;
        }
        rebind::rebind(image, Which::Weak, |name| {
            let lacking = is_lacking(base::plain_id(name)?) && is_ours(libc::RTLD_DEFAULT, name);
            lacking.then_some(0)
        });
    }
}

/// The functions of which a layer has a wrapper: preloaded, the tool would be found.
static INTERCEPTED: [AtomicBool; entry::FUNCTIONS] = [const { AtomicBool::new(false) }; entry::FUNCTIONS];

/// A layer has a wrapper of `id`.
pub(crate) fn intercepted(id: FnId) {
    INTERCEPTED[id.index()].store(true, Ordering::Relaxed);
}

/// Does neither the MPI library have the function nor a layer add it?
fn is_lacking(id: FnId) -> bool {
    entry::get(id).is_none()
}

/// Does glibc's `dlsym` find this library's function?
fn is_ours(handle: *mut c_void, name: &CStr) -> bool {
    // SAFETY: `name` is a C string; the handle came from the caller of `dlsym`, who vouches for it.
    let found = unsafe { dlsym::real()(handle, name.as_ptr()) };
    object_of(found.addr()) == Some(Object::Own)
}

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
    let Some(id) = base::plain_id(name) else { return lookup(handle) };
    // A tool in a namespace has a `dlsym` of its own.
    if object_of(caller) != Some(Object::Other) {
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
    if !is_ours(asked, name) || behind_us() {
        return true;
    }
    // MPI may have been opened for one library only; the layers are there for all.
    start::before_first_call();
    INTERCEPTED[id.index()].load(Ordering::Relaxed)
}

/// A handle in which no function of MPI is found: that of the C library.
fn without_mpi() -> *mut c_void {
    // SAFETY: the C library is loaded; no constructor can run.
    let handle = unsafe { libc::dlopen(c"libc.so.6".as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
    if handle.is_null() { log::fatal("the C library is not named libc.so.6", None) } else { handle }
}

/// Whose object an address lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Object {
    /// This library.
    Own,
    /// Another one of the base namespace.
    Other,
}

/// `None`: it is not in the base namespace.
fn object_of(address: usize) -> Option<Object> {
    objects::find(|info| {
        let has = |address| image::contains(info, address);
        let own = || if has(entry::own_address()) { Object::Own } else { Object::Other };
        has(address).then(own)
    })
}
