//! glibc's list of loaded objects: what the loader, which may allocate, asks of it.
#![expect(unsafe_code, reason = "dlerror")]

use std::ffi::CStr;

pub(crate) use qmpi_overrides::namespace::object_at;
pub(crate) use qmpi_overrides::{Handle, LinkMap};

use crate::image::Image;

/// The tables of a loaded object, with its path.
pub(crate) fn image(map: &'static LinkMap) -> Option<Image> {
    Image::at(map.name(), map.base, map.program_headers()?)
}

/// The last message of the dynamic linker.
pub(crate) fn dlerror() -> String {
    // SAFETY: glibc keeps the message per thread.
    let message = unsafe { libc::dlerror() };
    if message.is_null() {
        return "unknown error of the dynamic linker".into();
    }
    // SAFETY: a C string that lives until the next call.
    unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned()
}
