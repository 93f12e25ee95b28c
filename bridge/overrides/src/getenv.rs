//! `getenv` of a tool: its own settings first, then the process's environment, in a copy of the tool's own.
//!
//! Tools cut up what `getenv` returns where it stands (`strtok`), which is the environment itself. Under `LD_PRELOAD` nothing
//! else reads their setting; here the next instance does, and would find half of it.
#![expect(unsafe_code, reason = "reads C strings that the tool passes, and the environment")]

use core::ffi::{CStr, c_char};

use crate::answers::Answers;
use crate::glibc::secure_getenv;

/// A variable of the environment when an instance was loaded.
#[derive(Debug)]
pub struct Variable {
    /// Its name.
    pub name: &'static CStr,
    /// Its value.
    pub value: &'static CStr,
    /// What the instance gets, and may write to: as many bytes as the value, never freed.
    pub own: *mut c_char,
}

// SAFETY: nothing here reads or writes through `own`: it is handed to the tool, as `getenv` hands out its environment.
unsafe impl Send for Variable {}
// SAFETY: as above.
unsafe impl Sync for Variable {}

/// `getenv(name)`.
pub(crate) extern "C" fn overlay(name: *const c_char, answers: &'static Answers) -> *const c_char {
    // SAFETY: the tool's own argument, passed on.
    setting(name, answers).unwrap_or_else(|| inherited(name, unsafe { libc::getenv(name) }, answers))
}

/// `secure_getenv(name)`: nothing is trusted in a program that runs with other people's rights.
pub(crate) extern "C" fn secure_overlay(name: *const c_char, answers: &'static Answers) -> *const c_char {
    // SAFETY: reads the auxiliary vector.
    let secure = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    let setting = if secure { None } else { setting(name, answers) };
    // SAFETY: the tool's own argument, passed on.
    setting.unwrap_or_else(|| inherited(name, unsafe { secure_getenv(name) }, answers))
}

fn setting(name: *const c_char, answers: &'static Answers) -> Option<*const c_char> {
    if name.is_null() {
        return None;
    }
    // SAFETY: the tool passes a C string, as `getenv` wants.
    let name = unsafe { CStr::from_ptr(name) };
    answers.settings.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_ptr())
}

/// The instance's copy of what the process's `getenv` said, unless the variable has been set to something else since.
fn inherited(name: *const c_char, current: *const c_char, answers: &'static Answers) -> *const c_char {
    if current.is_null() {
        return current;
    }
    // SAFETY: `getenv` has read it as a C string, and found a variable of this name.
    let known = unsafe { CStr::from_ptr(name) };
    // SAFETY: `getenv` returns C strings.
    let text = unsafe { CStr::from_ptr(current) };
    let variable = answers.inherited.iter().find(|variable| variable.name == known);
    variable.filter(|variable| variable.value == text).map_or(current, |variable| variable.own.cast_const())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_before_the_environment_and_that_is_a_copy() {
        // SAFETY: the name is a C string.
        let path = unsafe { libc::getenv(c"PATH".as_ptr()) };
        // SAFETY: a test has a PATH.
        let path = unsafe { CStr::from_ptr(path) };
        let own = path.to_owned().into_raw();
        let known = Variable { name: c"PATH", value: path, own };
        let changed = Variable { name: c"PWD", value: c"what it was before", own };
        let mut answers = Answers::new(&[], &[]);
        answers.settings = &[(c"SET_FOR_THE_LAYER", c"value")];
        answers.inherited = Box::leak(Box::new([known, changed]));
        let answers: &'static Answers = Box::leak(Box::new(answers));
        for ask in [overlay, secure_overlay] {
            assert_eq!(ask(c"SET_FOR_THE_LAYER".as_ptr(), answers), c"value".as_ptr());
            assert_eq!(ask(c"PATH".as_ptr(), answers), own.cast_const());
            // SAFETY: the name is a C string.
            assert_eq!(ask(c"PWD".as_ptr(), answers), unsafe { libc::getenv(c"PWD".as_ptr()) }, "changed since");
            assert!(ask(c"set nowhere".as_ptr(), answers).is_null());
        }
    }
}
