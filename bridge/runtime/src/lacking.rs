//! Functions that the process's MPI library lacks. libqmpi defines every function there is, and a program must not find one
//! by that which it would not find without us.
//!
//! Programs ask in two ways. A *weak reference* is null if nobody defines the function: those that `ld.so` bound to us are
//! made null again. And `dlsym`: the process gets ours (`dlsym.rs`), which fails for such a name as glibc's does.
#![expect(unsafe_code, reason = "asks dlsym")]

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use qmpi_abi::FnId;
use qmpi_loader::image::{self, Image};
use qmpi_loader::rebind::{self, Which};
use qmpi_loader::{dlsym, objects};

use crate::entry;

/// Makes weak references in `images` to what is lacking null.
pub(crate) fn forget<'a>(images: impl IntoIterator<Item = &'a Image>) {
    for image in images {
        if entry::is_ours(image) {
            continue;
        }
        rebind::rebind(image, Which::Weak, |name| {
            let lacking = is_lacking(entry::plain_id(name)?) && is_ours(libc::RTLD_DEFAULT, name);
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

/// Has a layer a wrapper of `id`?
pub(crate) fn is_intercepted(id: FnId) -> bool {
    INTERCEPTED[id.index()].load(Ordering::Relaxed)
}

/// Does neither the MPI library have the function nor a layer add it?
fn is_lacking(id: FnId) -> bool {
    entry::get(id).is_none()
}

/// Does glibc's `dlsym` find this library's function?
pub(crate) fn is_ours(handle: *mut c_void, name: &CStr) -> bool {
    // SAFETY: `name` is a C string; the handle came from the caller of `dlsym`, who vouches for it.
    let found = unsafe { dlsym::real()(handle, name.as_ptr()) };
    object_of(found.addr()) == Some(Object::Own)
}

/// Whose object an address lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Object {
    /// This library.
    Own,
    /// Another one of the base namespace.
    Other,
}

/// `None`: it is not in the base namespace.
pub(crate) fn object_of(address: usize) -> Option<Object> {
    objects::find(|info| {
        let has = |address| image::contains(info, address);
        let own = || if has(entry::own_address()) { Object::Own } else { Object::Other };
        has(address).then(own)
    })
}
