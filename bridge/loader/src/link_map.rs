//! glibc's list of loaded objects: what the loader, which may allocate, asks of it.
#![expect(unsafe_code, reason = "dlopen, dlmopen and dlerror")]

use std::ffi::{CStr, c_int};

pub(crate) use qmpi_overrides::namespace::object_at;
pub(crate) use qmpi_overrides::{Handle, LinkMap};

/// Opens an object in the base namespace.
///
/// # Errors
/// What `dlerror` says.
pub(crate) fn open(path: &CStr, mode: c_int) -> Result<Handle, String> {
    // SAFETY: constructors run here as for whoever wants the object open. With RTLD_NOLOAD there are none.
    let handle = unsafe { libc::dlopen(path.as_ptr(), mode) };
    if handle.is_null() { Err(dlerror()) } else { Ok(Handle(handle)) }
}

/// The same in another namespace: one that is there, or with LM_ID_NEWLM a new one.
///
/// # Errors
/// What `dlerror` says.
pub(crate) fn open_in(namespace: libc::Lmid_t, path: &CStr, mode: c_int) -> Result<Handle, String> {
    // SAFETY: constructors of a tool run here, as they would under LD_PRELOAD; providers have none. With RTLD_NOLOAD there are none.
    let handle = unsafe { libc::dlmopen(namespace, path.as_ptr(), mode) };
    if handle.is_null() { Err(dlerror()) } else { Ok(Handle(handle)) }
}

/// Keeps a loaded object for ever: the program may have opened it, and close it while tools are bound to it.
pub(crate) fn keep(path: &CStr) {
    let _ = open(path, libc::RTLD_NOLOAD | libc::RTLD_LAZY | libc::RTLD_NODELETE);
}

/// The last message of the dynamic linker. It is taken back: a later `dlerror` of the program does not see it.
pub(crate) fn dlerror() -> String {
    // SAFETY: glibc keeps the message per thread.
    let message = unsafe { libc::dlerror() };
    if message.is_null() {
        return "unknown error of the dynamic linker".into();
    }
    // SAFETY: a C string that lives until the next call.
    unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned()
}
