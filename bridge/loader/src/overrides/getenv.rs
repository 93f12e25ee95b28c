//! `getenv` of a tool: its own settings first, then the process's environment, in a copy of the tool's own.
//!
//! Tools cut up what `getenv` returns where it stands (`strtok`), which is the environment itself. Under `LD_PRELOAD` nobody
//! else reads their setting; here the next instance does, and would find half of it.
#![expect(unsafe_code, reason = "reads C strings that the tool passes, and the environment")]

use std::ffi::{CStr, CString, c_char};
use std::os::unix::ffi::OsStringExt;

use crate::Instance;

unsafe extern "C" {
    fn secure_getenv(name: *const c_char) -> *mut c_char;
}

/// The process's environment when an instance was loaded.
#[derive(Debug)]
pub(crate) struct Inherited(Vec<Variable>);

#[derive(Debug)]
struct Variable {
    name: CString,
    value: CString,
    /// What the instance gets, and may write to; as many bytes as the value, and never freed.
    own: *mut c_char,
}

// SAFETY: nobody here reads or writes through `own`: it is handed to the tool, as `getenv` hands out its environment.
unsafe impl Send for Inherited {}
// SAFETY: as above.
unsafe impl Sync for Inherited {}

impl Inherited {
    /// Copies the environment, but for what the dynamic linker reads: a tool that blanks out `LD_PRELOAD` in place means the
    /// programs that this one will start.
    pub(crate) fn copy() -> Inherited {
        let settings = std::env::vars_os().filter(|(name, _)| !name.as_encoded_bytes().starts_with(b"LD_"));
        let variables = settings.filter_map(|(name, value)| {
            let value = CString::new(value.into_vec()).ok()?;
            let own = value.clone().into_raw();
            Some(Variable { name: CString::new(name.into_vec()).ok()?, value, own })
        });
        Inherited(variables.collect())
    }

    /// Nothing is copied: for tools that are served the process's own values.
    pub(crate) const fn none() -> Inherited {
        Inherited(Vec::new())
    }

    /// The instance's copy of `current`, unless the variable has been set to something else since.
    fn own(&self, name: &CStr, current: &CStr) -> Option<*const c_char> {
        let known = self.0.iter().find(|variable| variable.name.as_c_str() == name)?;
        (known.value.as_c_str() == current).then_some(known.own.cast_const())
    }
}

/// `getenv(name)`.
pub(crate) extern "C" fn overlay(name: *const c_char, instance: &'static Instance) -> *const c_char {
    // SAFETY: the tool's own argument, passed on.
    setting(name, instance).unwrap_or_else(|| inherited(name, unsafe { libc::getenv(name) }, instance))
}

/// `secure_getenv(name)`: nothing is trusted in a program that runs with other people's rights.
pub(crate) extern "C" fn secure_overlay(name: *const c_char, instance: &'static Instance) -> *const c_char {
    // SAFETY: reads the auxiliary vector.
    let secure = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    let setting = if secure { None } else { setting(name, instance) };
    // SAFETY: the tool's own argument, passed on.
    setting.unwrap_or_else(|| inherited(name, unsafe { secure_getenv(name) }, instance))
}

fn setting(name: *const c_char, instance: &'static Instance) -> Option<*const c_char> {
    if name.is_null() {
        return None;
    }
    // SAFETY: the tool passes a C string, as `getenv` wants.
    let name = unsafe { CStr::from_ptr(name) };
    instance.env.iter().find(|(known, _)| known.as_c_str() == name).map(|(_, value)| value.as_ptr())
}

/// The instance's copy of what the process's `getenv` said, or that itself.
fn inherited(name: *const c_char, current: *const c_char, instance: &'static Instance) -> *const c_char {
    if current.is_null() {
        return current;
    }
    // SAFETY: `getenv` has read it as a C string, and found a variable of this name.
    let known = unsafe { CStr::from_ptr(name) };
    // SAFETY: `getenv` returns C strings.
    let text = unsafe { CStr::from_ptr(current) };
    instance.inherited.own(known, text).unwrap_or(current)
}
