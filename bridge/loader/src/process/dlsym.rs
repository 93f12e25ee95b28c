//! glibc's own `dlsym`: the process's may be that of `libqmpi.so`, whose look-ups must not be taken for a program's, or that of
//! another preloaded library.
#![expect(unsafe_code, reason = "asks the dynamic linker")]

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// The type of `dlsym`.
pub type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

/// Its address; the process's own before [`set`]. Machine code jumps through it.
pub(crate) static REAL: AtomicPtr<c_void> = AtomicPtr::new(libc::dlsym as *mut c_void);

/// Where it is, as `libqmpi.so` has found out.
pub fn set(address: usize) {
    REAL.store(std::ptr::with_exposed_provenance_mut(address), Ordering::Relaxed);
}

/// glibc's.
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
