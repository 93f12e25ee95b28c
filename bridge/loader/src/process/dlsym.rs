//! glibc's own `dlsym` and `dlvsym`: the process's may be that of `libqmpi.so`, whose look-ups must not be taken for a program's, or that of
//! another preloaded library.
#![expect(unsafe_code, reason = "asks the dynamic linker")]

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// The type of `dlsym`.
pub type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

/// The type of `dlvsym`.
pub type Dlvsym = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;

unsafe extern "C" {
    /// dlfcn.h; the libc crate lacks it.
    fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
}

/// The address of `dlsym`; of the process's own before [`set`]. Machine code jumps through it.
pub(crate) static REAL: AtomicPtr<c_void> = AtomicPtr::new(libc::dlsym as *mut c_void);
/// The same of `dlvsym`.
pub(crate) static REAL_VERSIONED: AtomicPtr<c_void> = AtomicPtr::new(dlvsym as *mut c_void);

/// Where both are, as `libqmpi.so` has found out.
pub fn set(dlsym: usize, dlvsym: usize) {
    REAL.store(std::ptr::with_exposed_provenance_mut(dlsym), Ordering::Relaxed);
    REAL_VERSIONED.store(std::ptr::with_exposed_provenance_mut(dlvsym), Ordering::Relaxed);
}

/// glibc's `dlvsym`.
pub(crate) fn real_versioned() -> Dlvsym {
    // SAFETY: a function of this type is what the name means in the C library.
    unsafe { std::mem::transmute::<*mut c_void, Dlvsym>(REAL_VERSIONED.load(Ordering::Relaxed)) }
}

/// glibc's `dlsym`.
pub fn real() -> Dlsym {
    // SAFETY: a function of this type is what the name means in the C library.
    unsafe { std::mem::transmute::<*mut c_void, Dlsym>(REAL.load(Ordering::Relaxed)) }
}

/// What the process's own scope has under this name, as a preloaded library would find it.
pub fn global(name: &CStr) -> Option<usize> {
    // SAFETY: `name` is a C string.
    let address = unsafe { real()(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then(|| address.addr())
}
