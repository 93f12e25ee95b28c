//! The `dlsym` that comes after ours: glibc's, or that of another preloaded library.
//!
//! libqmpi exports one, for programs (`runtime/src/dlsym.rs`); its own look-ups must not be taken for theirs.
#![expect(unsafe_code, reason = "asks the dynamic linker")]

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::{arch, log};

/// The type of `dlsym`.
pub type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

/// Finds it, once.
pub fn real() -> Dlsym {
    static REAL: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
    let mut real = REAL.load(Ordering::Relaxed);
    if real.is_null() {
        // SAFETY: both are C strings.
        real = unsafe { libc::dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), arch::FIRST_GLIBC.as_ptr()) };
        if real.is_null() {
            log::fatal("the C library has no dlsym", None);
        }
        REAL.store(real, Ordering::Relaxed);
    }
    // SAFETY: a function of this type is what the name means in the C library.
    unsafe { std::mem::transmute::<*mut c_void, Dlsym>(real) }
}

/// What the process's own scope has under this name, as a preloaded library would find it.
pub fn global(name: &CStr) -> Option<usize> {
    // SAFETY: `name` is a C string.
    let address = unsafe { real()(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then(|| address.addr())
}
