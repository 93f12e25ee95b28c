//! The environment of an instance: what its layer sets, a copy of what it inherited, and its own variable `environ`.
//!
//! The loader makes all of it and changes it; here it is read, which allocates nothing and takes no lock.

use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use qmpi_ring::environment::Array;

/// A variable that the layer sets for this instance.
#[derive(Debug)]
pub struct Setting {
    /// Its name.
    pub name: &'static CStr,
    /// `NAME=VALUE`, which the instance may write to, as to any environment; never freed.
    pub text: AtomicPtr<c_char>,
    /// Still in force: the instance has not set it to something else, nor unset it.
    pub is_in_force: AtomicBool,
}

/// A variable of the process's environment when the instance was loaded.
#[derive(Debug)]
pub struct InheritedVariable {
    /// Its name.
    pub name: &'static CStr,
    /// Its value.
    pub value: &'static CStr,
    /// `NAME=VALUE`, which the instance gets in the place of the process's own, and may write to; never freed.
    pub own: AtomicPtr<c_char>,
}

/// Where the value starts in `NAME=VALUE`.
pub fn value_in(text: *mut c_char, name: &CStr) -> *mut c_char {
    text.wrapping_add(name.count_bytes()).wrapping_add(1)
}

impl Setting {
    /// Its value, while it is in force.
    pub(crate) fn value(&self) -> Option<*mut c_char> {
        self.is_in_force.load(Ordering::Acquire).then(|| value_in(self.text.load(Ordering::Relaxed), self.name))
    }
}

/// The variable `environ` of an instance.
#[derive(Debug)]
pub struct View {
    /// The variable itself, under its three names; the tool may store to it.
    variable: AtomicPtr<*mut c_char>,
    /// What the loader has stored there last.
    stored: AtomicPtr<*mut c_char>,
    /// How many words that has room for.
    room: AtomicUsize,
}

impl View {
    /// A variable that is null: that of an instance which shares the process's.
    pub(crate) const fn new() -> View {
        View {
            variable: AtomicPtr::new(core::ptr::null_mut()),
            stored: AtomicPtr::new(core::ptr::null_mut()),
            room: AtomicUsize::new(0),
        }
    }

    /// Where the tool finds its variable.
    pub fn address(&'static self) -> usize {
        (&raw const self.variable).expose_provenance()
    }

    /// Lets it point to `array`, which has room for so many words and lives as long as it does.
    pub fn store(&self, array: Array, room: usize) {
        self.room.store(room, Ordering::Relaxed);
        self.stored.store(array, Ordering::Release);
        self.variable.store(array, Ordering::Release);
    }

    /// The array that was stored last.
    pub fn stored(&self) -> Array {
        self.stored.load(Ordering::Acquire)
    }

    /// Lets it point to the array that was stored last again, whatever the tool has stored.
    pub fn take_back(&self) {
        self.variable.store(self.stored.load(Ordering::Acquire), Ordering::Release);
    }

    /// The array that was stored last, if it has room for so many words.
    pub fn with_room(&self, words: usize) -> Option<Array> {
        let array = self.stored();
        (!array.is_null() && words <= self.room.load(Ordering::Relaxed)).then_some(array)
    }

    /// The tool's own array, if it has stored one, or a null pointer.
    pub fn replaced(&self) -> Option<Array> {
        let array = self.variable.load(Ordering::Acquire);
        (array != self.stored()).then_some(array)
    }
}
