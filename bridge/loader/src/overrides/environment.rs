//! The environment of an instance as the loader makes it: the layer's settings, a copy of the process's variables, and the array
//! that the instance's own `environ` points to.
//!
//! A tool that changes the environment changes the process's, as under `LD_PRELOAD`; what its layer sets under that name is no longer
//! in force then. The arrays follow at once.
#![expect(unsafe_code, reason = "the process's environment, and what tools pass")]

use std::ffi::{CStr, CString, c_char, c_int};
use std::os::unix::ffi::OsStringExt;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use qmpi_overrides::Answers;
use qmpi_overrides::environment::{InheritedVariable, Setting};
use qmpi_ring::environment::{Array, is_named, texts};
use qmpi_system::Locked;

use crate::instance::{Instance, leaked};

unsafe extern "C" {
    /// unistd.h; the C library's own variable, in which threads may store.
    static environ: AtomicPtr<*mut c_char>;
}

/// A layer's settings.
pub(crate) fn settings(env: &[(String, String)]) -> &'static [Setting] {
    let settings = env.iter().filter_map(|(name, value)| {
        let text = AtomicPtr::new(CString::new(format!("{name}={value}")).ok()?.into_raw());
        Some(Setting { name: leaked(name.as_str())?, text, is_in_force: AtomicBool::new(true) })
    });
    Box::leak(settings.collect::<Box<[_]>>())
}

/// Copies the environment, but for what the dynamic linker reads: a tool that blanks out `LD_PRELOAD` in place means the
/// programs that this one will start.
pub(crate) fn copy() -> &'static [InheritedVariable] {
    let settings = std::env::vars_os().filter(|(name, _)| !name.as_encoded_bytes().starts_with(b"LD_"));
    let variables = settings.filter_map(|(name, value)| {
        let (name, value) = (name.into_vec(), value.into_vec());
        let own = AtomicPtr::new(CString::new([&*name, b"=", &*value].concat()).ok()?.into_raw());
        Some(InheritedVariable { name: leaked(name)?, value: leaked(value)?, own })
    });
    Box::leak(variables.collect::<Box<[_]>>())
}

/// Held while the process's environment is changed and while the arrays follow: by every caller of the four functions below, so that no
/// other thread changes what is read here. The C library has a lock for this as well, which nobody else can take.
static CHANGES: Locked<()> = Locked::new(());

/// Gives the instance an `environ` of its own, if its layer has settings.
pub(crate) fn give_view(answers: &'static Answers) {
    if has_view(answers) {
        let _changes = CHANGES.lock();
        fill(answers);
    }
}

/// Does the instance have an `environ` of its own?
pub(crate) fn has_view(answers: &Answers) -> bool {
    !answers.settings.is_empty()
}

/// Changes the process's environment by `change`, which returns 0 if it has, and then each `environ` of an instance: under `name`, or as
/// a whole where there is none. What the layer of `instance`, whose tool asks for it, sets there is no longer in force.
fn change(instance: Option<&'static Instance>, name: Option<&[u8]>, change: impl FnOnce() -> c_int) -> c_int {
    let _changes = CHANGES.lock();
    let failed = change();
    if failed != 0 {
        return failed;
    }
    if let Some(Instance { answers, .. }) = instance {
        let is_it = |setting: &&Setting| name.is_none_or(|name| setting.name.to_bytes() == name);
        let settings = answers.settings.iter().filter(is_it);
        settings.for_each(|setting| setting.is_in_force.store(false, Ordering::Release));
        if name.is_none() {
            answers.view.take_back();
        }
    }
    let text = name.and_then(current);
    // What the tool itself has stored stays.
    let views = Instance::all().map(|instance| &instance.answers);
    for answers in views.filter(|answers| has_view(answers) && answers.view.replaced().is_none()) {
        match name {
            Some(name) => follow(answers, name, text),
            None => fill(answers),
        }
    }
    0
}

/// `NAME=VALUE` in the process's environment.
fn current(name: &[u8]) -> Option<*mut c_char> {
    let c_name = CString::new(name).ok()?;
    // SAFETY: the name is a C string, and `CHANGES` keeps other threads from changing the environment.
    let value = unsafe { libc::getenv(c_name.as_ptr()) };
    (!value.is_null()).then(|| value.wrapping_sub(name.len() + 1))
}

/// Lets the array of an instance follow a change of `name` in the process, whose text is now `text`.
fn follow(answers: &'static Answers, name: &[u8], text: Option<*mut c_char>) {
    if answers.settings.iter().any(|setting| sets(setting, name)) {
        return;
    }
    let stored = answers.view.stored();
    // SAFETY: the array that `store` made, which is changed under `CHANGES` alone.
    let all = || unsafe { texts(stored) };
    let mut count = 0;
    let place = all().inspect(|_| count += 1).position(|text| {
        // SAFETY: a C string of that array.
        unsafe { is_named(text, name) }
    });
    let text = text.map(|text| own_copy(answers, text));
    match (place, text) {
        (Some(place), Some(text)) => write(stored.wrapping_add(place), &[text]),
        (Some(place), None) => {
            store(answers, all().enumerate().filter(|(at, _)| *at != place).map(|(_, text)| text).collect())
        }
        (None, Some(text)) if answers.view.with_room(count + 2).is_some() => {
            write(stored.wrapping_add(count), &[text, std::ptr::null_mut()]);
        }
        (None, Some(text)) => store(answers, all().chain([text]).collect()),
        (None, None) => {}
    }
}

/// Makes the array of an instance: the process's variables, those that the layer sets in their place, and the other settings.
fn fill(answers: &'static Answers) {
    // SAFETY: the C library's variable, of the type and size of a pointer.
    let process = unsafe { environ.load(Ordering::Acquire) };
    let mut is_placed = vec![false; answers.settings.len()];
    let mut array: Vec<*mut c_char> = Vec::new();
    // SAFETY: the process's environment. `CHANGES` keeps threads from changing it: references of the process's objects were bound to the functions
    // below before the first instance was loaded (`expect_view`).
    for text in unsafe { texts(process) } {
        // SAFETY: a C string of that array.
        let bytes = unsafe { CStr::from_ptr(text) }.to_bytes();
        let is_it = |setting: &Setting| split(bytes).is_some_and(|(name, _)| sets(setting, name));
        array.push(match answers.settings.iter().position(is_it) {
            Some(index) if std::mem::replace(&mut is_placed[index], true) => continue,
            Some(index) => answers.settings[index].text.load(Ordering::Relaxed),
            None => own_copy(answers, text),
        });
    }
    let others = answers.settings.iter().zip(is_placed).filter(|(_, is_placed)| !is_placed);
    let in_force = others.filter(|(setting, _)| sets(setting, setting.name.to_bytes()));
    array.extend(in_force.map(|(setting, _)| setting.text.load(Ordering::Relaxed)));
    store(answers, array);
}

/// Does the layer set this name, and is that in force?
fn sets(setting: &Setting, name: &[u8]) -> bool {
    setting.name.to_bytes() == name && setting.is_in_force.load(Ordering::Acquire)
}

/// The instance's copy of a variable, where the variable is as it was when the tool was loaded; else the variable itself.
fn own_copy(answers: &Answers, text: *mut c_char) -> *mut c_char {
    // SAFETY: a C string of the environment.
    let Some((name, value)) = split(unsafe { CStr::from_ptr(text) }.to_bytes()) else { return text };
    let is_it = |known: &&InheritedVariable| known.name.to_bytes() == name && known.value.to_bytes() == value;
    answers.inherited.iter().find(is_it).map_or(text, |known| known.own.load(Ordering::Relaxed))
}

/// Stores the array in place if there is room, as the C library does: a thread that reads it meets the words of before or of after.
fn store(answers: &'static Answers, mut array: Vec<*mut c_char>) {
    array.push(std::ptr::null_mut());
    let place = answers.view.with_room(array.len()).unwrap_or_else(|| {
        let room = array.len() * 2;
        // Never freed: a thread may be reading the array of before.
        let place = Box::leak(vec![std::ptr::null_mut(); room].into_boxed_slice()).as_mut_ptr();
        write(place, &array);
        answers.view.store(place, room);
        place
    });
    write(place, &array);
    answers.view.take_back();
}

fn write(place: Array, array: &[*mut c_char]) {
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
fn adopt(instance: Option<&'static Instance>) {
    let Some(array) = instance.and_then(|instance| instance.answers.view.replaced()) else { return };
    change(instance, None, || {
        // SAFETY: the C library's variable, of the type and size of a pointer.
        unsafe { environ.store(array, Ordering::Release) };
        0
    });
}

/// The bytes of a C string.
fn bytes<'a>(text: *const c_char) -> &'a [u8] {
    // SAFETY: null, or a C string: that is what these functions take.
    if text.is_null() { &[] } else { unsafe { CStr::from_ptr(text) }.to_bytes() }
}

/// `setenv(name, value, overwrite)` of a tool; without an instance, of the process's own objects.
pub(crate) extern "C" fn set(
    name: *const c_char,
    value: *const c_char,
    overwrite: c_int,
    instance: Option<&'static Instance>,
) -> c_int {
    adopt(instance);
    let mut settings = instance.iter().flat_map(|instance| instance.answers.settings);
    if overwrite == 0 && !name.is_null() && settings.any(|setting| sets(setting, bytes(name))) {
        return 0;
    }
    // SAFETY: the caller's own arguments, passed on.
    change(instance, Some(bytes(name)), || unsafe { libc::setenv(name, value, overwrite) })
}

/// `putenv(text)`, likewise.
pub(crate) extern "C" fn put(text: *mut c_char, _: usize, _: usize, instance: Option<&'static Instance>) -> c_int {
    adopt(instance);
    // glibc takes a text without `=` for a name that is to be unset.
    let name = split(bytes(text)).map_or(bytes(text), |(name, _)| name);
    // SAFETY: the caller's own argument, passed on.
    change(instance, Some(name), || unsafe { libc::putenv(text) })
}

/// `unsetenv(name)`, likewise.
pub(crate) extern "C" fn unset(name: *const c_char, _: usize, _: usize, instance: Option<&'static Instance>) -> c_int {
    adopt(instance);
    // SAFETY: the caller's own argument, passed on.
    change(instance, Some(bytes(name)), || unsafe { libc::unsetenv(name) })
}

/// `clearenv()`, likewise.
pub(crate) extern "C" fn clear(_: usize, _: usize, _: usize, instance: Option<&'static Instance>) -> c_int {
    // SAFETY: takes no argument.
    change(instance, None, || unsafe { libc::clearenv() })
}

extern "C" fn set_of_process(name: *const c_char, value: *const c_char, overwrite: c_int) -> c_int {
    set(name, value, overwrite, None)
}

extern "C" fn put_of_process(text: *mut c_char) -> c_int {
    put(text, 0, 0, None)
}

extern "C" fn unset_of_process(name: *const c_char) -> c_int {
    unset(name, 0, 0, None)
}

extern "C" fn clear_of_process() -> c_int {
    clear(0, 0, 0, None)
}

/// Whether an instance has an `environ` of its own, or will have one.
static IS_EXPECTED: AtomicBool = AtomicBool::new(false);

/// An instance that is about to be loaded will have an `environ` of its own: [`changes_of_process`] has an answer from now on, so that threads change
/// the environment under `CHANGES` before it is read.
pub fn expect_view() {
    IS_EXPECTED.store(true, Ordering::Relaxed);
}

/// What the references of the process's objects to the functions that change the environment are to be bound to, if an instance has
/// an `environ` of its own.
pub fn changes_of_process() -> Option<[(&'static CStr, usize); 4]> {
    IS_EXPECTED.load(Ordering::Relaxed).then(|| {
        [
            (c"setenv", (set_of_process as *const ()).addr()),
            (c"putenv", (put_of_process as *const ()).addr()),
            (c"unsetenv", (unset_of_process as *const ()).addr()),
            (c"clearenv", (clear_of_process as *const ()).addr()),
        ]
    })
}

const _: () = assert!(size_of::<AtomicPtr<*mut c_char>>() == size_of::<Array>());
