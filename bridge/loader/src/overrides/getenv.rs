//! `getenv` of a tool with settings of its own: those first, then the process's environment.
#![expect(unsafe_code, reason = "reads C strings that the tool passes")]

use std::ffi::{CStr, c_char};

use crate::Instance;

unsafe extern "C" {
    fn secure_getenv(name: *const c_char) -> *mut c_char;
}

/// `getenv(name)`.
pub(crate) extern "C" fn overlay(name: *const c_char, instance: &'static Instance) -> *const c_char {
    // SAFETY: the tool's own argument, passed on.
    own(name, instance).unwrap_or_else(|| unsafe { libc::getenv(name) })
}

/// `secure_getenv(name)`: nothing is trusted in a program that runs with other people's rights.
pub(crate) extern "C" fn secure_overlay(name: *const c_char, instance: &'static Instance) -> *const c_char {
    // SAFETY: reads the auxiliary vector.
    let secure = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    let own = if secure { None } else { own(name, instance) };
    // SAFETY: the tool's own argument, passed on.
    own.unwrap_or_else(|| unsafe { secure_getenv(name) })
}

fn own(name: *const c_char, instance: &'static Instance) -> Option<*const c_char> {
    if name.is_null() {
        return None;
    }
    // SAFETY: the tool passes a C string, as `getenv` wants.
    let name = unsafe { CStr::from_ptr(name) };
    instance.env.iter().find(|(known, _)| known.as_c_str() == name).map(|(_, value)| value.as_ptr())
}
