//! The environment of an instance as the loader makes it: the layer's settings, a copy of the process's variables, and the array
//! that the instance's own `environ` points to.
//!
//! A tool that changes the environment changes the process's, as under `LD_PRELOAD`; what its layer sets under that name is no longer
//! in force then. The arrays follow at once.
#![expect(unsafe_code, reason = "the process's environment, and what tools pass")]

use std::ffi::{CStr, CString, c_char, c_int};
use std::os::unix::ffi::OsStringExt;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

use qmpi_overrides::Answers;
use qmpi_overrides::environment::{Array, Setting, Variable, texts};

use crate::Instance;

unsafe extern "C" {
    /// unistd.h; the C library's own variable, in which threads may store.
    static environ: AtomicPtr<*mut c_char>;
}

/// A layer's settings.
pub(crate) fn settings(env: &[(String, String)]) -> &'static [Setting] {
    let settings = env.iter().filter_map(|(name, value)| {
        let text = CString::new(format!("{name}={value}")).ok()?.into_raw();
        Some(Setting { name: kept(name.as_str())?, text, is_in_force: AtomicBool::new(true) })
    });
    Box::leak(settings.collect::<Box<[_]>>())
}

/// Copies the environment, but for what the dynamic linker reads: a tool that blanks out `LD_PRELOAD` in place means the
/// programs that this one will start.
pub(crate) fn copy() -> &'static [Variable] {
    let settings = std::env::vars_os().filter(|(name, _)| !name.as_encoded_bytes().starts_with(b"LD_"));
    let variables = settings.filter_map(|(name, value)| {
        let (name, value) = (name.into_vec(), value.into_vec());
        let own = CString::new([&*name, b"=", &*value].concat()).ok()?.into_raw();
        Some(Variable { name: kept(name)?, value: kept(value)?, own })
    });
    Box::leak(variables.collect::<Box<[_]>>())
}

/// A C string that is never freed.
fn kept(text: impl Into<Vec<u8>>) -> Option<&'static CStr> {
    Some(Box::leak(CString::new(text).ok()?.into_boxed_c_str()))
}

/// One thread at a time changes arrays.
static CHANGES: Mutex<()> = Mutex::new(());

/// Gives the instance an `environ` of its own, if its layer has settings.
pub(crate) fn give_view(answers: &'static Answers) {
    if !answers.settings.is_empty() {
        let _changes = CHANGES.lock().unwrap_or_else(PoisonError::into_inner);
        renew(answers);
    }
}

/// Does the instance have an `environ` of its own?
pub(crate) fn has_view(answers: &Answers) -> bool {
    !answers.settings.is_empty()
}

/// Lets every `environ` of an instance follow the process's.
fn renew_all() {
    let _changes = CHANGES.lock().unwrap_or_else(PoisonError::into_inner);
    for instance in Instance::all().filter(|instance| has_view(&instance.answers)) {
        // What the tool itself has stored stays.
        if instance.answers.view.replaced().is_none() {
            renew(&instance.answers);
        }
    }
}

/// Fills in the array of an instance: the process's variables, those that the layer sets in their place, and the other settings.
fn renew(answers: &'static Answers) {
    // SAFETY: the C library's variable, of the type and size of a pointer.
    let process = unsafe { environ.load(Ordering::Acquire) };
    let mut is_placed = vec![false; answers.settings.len()];
    let in_force = |setting: &Setting| setting.is_in_force.load(Ordering::Acquire);
    let mut array: Vec<*mut c_char> = Vec::new();
    // SAFETY: the process's environment; a thread that changes it meanwhile would also meet a tool that reads it.
    for text in unsafe { texts(process) } {
        // SAFETY: a C string of that array.
        let bytes = unsafe { CStr::from_ptr(text) }.to_bytes();
        let Some((name, value)) = split(bytes) else {
            array.push(text);
            continue;
        };
        let setting = answers.settings.iter().position(|setting| setting.name.to_bytes() == name && in_force(setting));
        array.push(match setting {
            Some(index) if std::mem::replace(&mut is_placed[index], true) => continue,
            Some(index) => answers.settings[index].text,
            None => {
                let is_it = |known: &&Variable| known.name.to_bytes() == name && known.value.to_bytes() == value;
                answers.inherited.iter().find(is_it).map_or(text, |known| known.own)
            }
        });
    }
    let others =
        answers.settings.iter().zip(&is_placed).filter(|(setting, is_placed)| !**is_placed && in_force(setting));
    array.extend(others.map(|(setting, _)| setting.text));
    array.push(std::ptr::null_mut());
    store(answers, &array);
}

/// Stores the array in place if there is room, as the C library does: a thread that reads it meets the words of before or of after.
fn store(answers: &'static Answers, array: &[*mut c_char]) {
    let place = answers.view.with_room(array.len()).unwrap_or_else(|| {
        let room = array.len() * 2;
        // Never freed: a thread may be reading the array of before.
        let place = Box::leak(vec![std::ptr::null_mut(); room].into_boxed_slice()).as_mut_ptr();
        fill(place, array);
        answers.view.store(place, room);
        place
    });
    fill(place, array);
    answers.view.take_back();
}

fn fill(place: Array, array: &[*mut c_char]) {
    // What was behind a shorter array comes first: a reader finds an end at any moment.
    for (index, text) in array.iter().enumerate().rev() {
        // SAFETY: there is room for so many words.
        let word = unsafe { AtomicPtr::from_ptr(place.wrapping_add(index)) };
        word.store(*text, Ordering::Release);
    }
}

fn split(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| *byte == b'=')?;
    Some((&text[..end], &text[end + 1..]))
}

/// What the tool has stored to its `environ` is the process's environment from now on, as under `LD_PRELOAD`.
fn adopt(instance: &'static Instance) {
    let answers = &instance.answers;
    let Some(array) = answers.view.replaced() else { return };
    forget_all(answers);
    // SAFETY: the C library's variable, of the type and size of a pointer.
    unsafe { environ.store(array, Ordering::Release) };
    give_view(answers);
}

/// What the layer sets under this name is no longer in force.
fn forget(answers: &Answers, name: &[u8]) {
    let known = answers.settings.iter().filter(|setting| setting.name.to_bytes() == name);
    known.for_each(|setting| setting.is_in_force.store(false, Ordering::Release));
}

fn forget_all(answers: &Answers) {
    answers.settings.iter().for_each(|setting| setting.is_in_force.store(false, Ordering::Release));
}

/// The bytes of a C string.
fn bytes<'a>(text: *const c_char) -> &'a [u8] {
    // SAFETY: null, or a C string: that is what these functions take.
    if text.is_null() { &[] } else { unsafe { CStr::from_ptr(text) }.to_bytes() }
}

/// `setenv(name, value, overwrite)`.
pub(crate) extern "C" fn set(
    name: *const c_char,
    value: *const c_char,
    overwrite: c_int,
    instance: &'static Instance,
) -> c_int {
    adopt(instance);
    let answers = &instance.answers;
    let is_set =
        |setting: &Setting| setting.name.to_bytes() == bytes(name) && setting.is_in_force.load(Ordering::Acquire);
    if overwrite == 0 && !name.is_null() && answers.settings.iter().any(is_set) {
        return 0;
    }
    // SAFETY: the tool's own arguments, passed on.
    let failed = unsafe { libc::setenv(name, value, overwrite) };
    if failed == 0 {
        forget(answers, bytes(name));
        renew_all();
    }
    failed
}

/// `putenv(text)`.
pub(crate) extern "C" fn put(text: *mut c_char, _: usize, _: usize, instance: &'static Instance) -> c_int {
    adopt(instance);
    // SAFETY: the tool's own argument, passed on.
    let failed = unsafe { libc::putenv(text) };
    if failed == 0 {
        // glibc takes a text without `=` for a name that is to be unset.
        forget(&instance.answers, split(bytes(text)).map_or(bytes(text), |(name, _)| name));
        renew_all();
    }
    failed
}

/// `unsetenv(name)`.
pub(crate) extern "C" fn unset(name: *const c_char, _: usize, _: usize, instance: &'static Instance) -> c_int {
    adopt(instance);
    // SAFETY: the tool's own argument, passed on.
    let failed = unsafe { libc::unsetenv(name) };
    if failed == 0 {
        forget(&instance.answers, bytes(name));
        renew_all();
    }
    failed
}

/// `clearenv()`.
pub(crate) extern "C" fn clear(_: usize, _: usize, _: usize, instance: &'static Instance) -> c_int {
    // SAFETY: takes no argument.
    let failed = unsafe { libc::clearenv() };
    if failed == 0 {
        forget_all(&instance.answers);
        give_view(&instance.answers);
        renew_all();
    }
    failed
}

/// The same four for the process's own objects, so that each `environ` follows what they change.
mod of_process {
    use super::{c_char, c_int, renew_all};

    /// `setenv(name, value, overwrite)`.
    pub(super) extern "C" fn set(name: *const c_char, value: *const c_char, overwrite: c_int) -> c_int {
        // SAFETY: the program's own arguments, passed on.
        let failed = unsafe { libc::setenv(name, value, overwrite) };
        renew_all();
        failed
    }

    /// `putenv(text)`.
    pub(super) extern "C" fn put(text: *mut c_char) -> c_int {
        // SAFETY: as above.
        let failed = unsafe { libc::putenv(text) };
        renew_all();
        failed
    }

    /// `unsetenv(name)`.
    pub(super) extern "C" fn unset(name: *const c_char) -> c_int {
        // SAFETY: as above.
        let failed = unsafe { libc::unsetenv(name) };
        renew_all();
        failed
    }

    /// `clearenv()`.
    pub(super) extern "C" fn clear() -> c_int {
        // SAFETY: takes no argument.
        let failed = unsafe { libc::clearenv() };
        renew_all();
        failed
    }
}

/// What the references of the process's objects to the functions that change the environment are to be bound to, if an instance has
/// an `environ` of its own.
pub fn changes_of_process() -> Option<[(&'static CStr, usize); 4]> {
    Instance::all().any(|instance| has_view(&instance.answers)).then(|| {
        [
            (c"setenv", (of_process::set as *const ()).addr()),
            (c"putenv", (of_process::put as *const ()).addr()),
            (c"unsetenv", (of_process::unset as *const ()).addr()),
            (c"clearenv", (of_process::clear as *const ()).addr()),
        ]
    })
}

const _: () = assert!(size_of::<AtomicPtr<*mut c_char>>() == size_of::<Array>());
