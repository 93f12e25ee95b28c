//! `getenv` of a tool: its own settings first, then the process's environment, in a copy of the tool's own.
//!
//! Tools cut up what `getenv` returns where it stands (`strtok`), which is the environment itself. Under `LD_PRELOAD` nothing
//! else reads their setting; here the next instance does, and would find half of it.
#![expect(unsafe_code, reason = "reads C strings that the tool passes, and the environment")]

use core::ffi::{CStr, c_char};
use core::sync::atomic::Ordering;

use qmpi_ring::environment::find;

use crate::answers::Answers;
use crate::environment;
use crate::glibc::secure_getenv;

/// `getenv(name)`.
pub(crate) extern "C" fn overlay(name: *const c_char, answers: &'static Answers) -> *const c_char {
    // SAFETY: the tool's own argument, passed on.
    own(name, answers).unwrap_or_else(|| inherited(name, unsafe { libc::getenv(name) }, answers))
}

/// `secure_getenv(name)`: nothing is trusted in a program that runs with other people's rights.
pub(crate) extern "C" fn secure_overlay(name: *const c_char, answers: &'static Answers) -> *const c_char {
    // SAFETY: reads the auxiliary vector.
    let secure = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    let own = if secure { None } else { own(name, answers) };
    // SAFETY: the tool's own argument, passed on.
    own.unwrap_or_else(|| inherited(name, unsafe { secure_getenv(name) }, answers))
}

/// What the instance has of its own: an array that it has stored to its `environ`, or the layer's settings.
fn own(name: *const c_char, answers: &'static Answers) -> Option<*const c_char> {
    if name.is_null() {
        return None;
    }
    // SAFETY: the tool passes a C string, as `getenv` wants.
    let name = unsafe { CStr::from_ptr(name) };
    if let Some(array) = answers.view.replaced() {
        // SAFETY: an environment, as the tool's next call of glibc's `getenv` would take it for.
        let value = unsafe { find(array, name.to_bytes()) };
        return Some(value.map_or(core::ptr::null(), <*mut c_char>::cast_const));
    }
    let setting = answers.settings.iter().find(|setting| setting.name == name)?;
    setting.value().map(<*mut c_char>::cast_const)
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
    let unchanged = variable.filter(|variable| variable.value == text);
    unchanged.map_or(current, |variable| {
        environment::value_in(variable.own.load(Ordering::Relaxed), variable.name).cast_const()
    })
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicBool, AtomicPtr};

    use super::*;
    use crate::environment::{InheritedVariable, Setting};

    fn kept(text: &str) -> *mut c_char {
        std::ffi::CString::new(text).unwrap().into_raw()
    }

    fn text(value: *const c_char) -> Option<String> {
        // SAFETY: null, or a C string.
        (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) }.to_str().unwrap().to_owned())
    }

    fn process(name: &CStr) -> &'static CStr {
        // SAFETY: the name is a C string.
        let value = unsafe { libc::getenv(name.as_ptr()) };
        assert!(!value.is_null(), "{name:?} is not set");
        // SAFETY: a C string.
        unsafe { CStr::from_ptr(value) }
    }

    #[test]
    fn settings_come_before_the_environment_and_that_is_a_copy() {
        let path = process(c"PATH");
        let own = kept(&format!("PATH={}", path.to_str().unwrap()));
        let known = InheritedVariable { name: c"PATH", value: path, own: AtomicPtr::new(own) };
        let other = c"CARGO_MANIFEST_DIR";
        let changed = InheritedVariable { name: other, value: c"what it was before", own: AtomicPtr::new(own) };
        let mut answers = Answers::new(&[], &[]);
        let setting = |name, value, is_in_force| Setting {
            name,
            text: AtomicPtr::new(kept(value)),
            is_in_force: AtomicBool::new(is_in_force),
        };
        answers.settings = Box::leak(Box::new([
            setting(c"SET_FOR_THE_LAYER", "SET_FOR_THE_LAYER=value", true),
            setting(c"PATH", "PATH=of the layer", false),
        ]));
        answers.inherited = Box::leak(Box::new([known, changed]));
        let answers: &'static Answers = Box::leak(Box::new(answers));
        for ask in [overlay, secure_overlay] {
            assert_eq!(text(ask(c"SET_FOR_THE_LAYER".as_ptr(), answers)).unwrap(), "value");
            assert_eq!(ask(c"PATH".as_ptr(), answers), own.wrapping_add(5).cast_const(), "no longer in force");
            assert_eq!(ask(other.as_ptr(), answers), process(other).as_ptr(), "changed since");
            assert!(ask(c"set nowhere".as_ptr(), answers).is_null());
        }
        answers.settings[0].is_in_force.store(false, Ordering::Release);
        assert!(overlay(c"SET_FOR_THE_LAYER".as_ptr(), answers).is_null());
    }

    #[test]
    fn an_array_that_the_tool_stored_is_its_environment() {
        let answers: &'static Answers = Box::leak(Box::new(Answers::new(&[], &[])));
        answers.view.store(Box::leak(Box::new([kept("A=1"), core::ptr::null_mut()])).as_mut_ptr(), 2);
        assert!(overlay(c"AB".as_ptr(), answers).is_null());
        let array = Box::leak(Box::new([kept("AB=2"), kept("A=3"), core::ptr::null_mut()]));
        // SAFETY: the variable of the test's own instance, as the tool would store to it.
        unsafe {
            *core::ptr::with_exposed_provenance_mut::<*mut *mut c_char>(answers.view.address()) = array.as_mut_ptr()
        };
        assert_eq!(text(overlay(c"A".as_ptr(), answers)).unwrap(), "3");
        assert!(overlay(c"PATH".as_ptr(), answers).is_null());
    }
}
