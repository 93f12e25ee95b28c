//! glibc's own `dlsym` and `dlvsym`: the process's may be that of `libqmpi.so`, whose look-ups must not be taken for a program's, or that of
//! another preloaded library.
#![expect(unsafe_code, reason = "asks the dynamic linker")]

use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

use qmpi_ring::ring::{Dlsym, Dlvsym};

unsafe extern "C" {
    /// dlfcn.h; the libc crate lacks it.
    #[link_name = "dlvsym"]
    fn dlvsym_of_process(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;

    /// stdlib.h; the libc crate lacks it.
    pub(crate) fn secure_getenv(name: *const c_char) -> *mut c_char;
}

/// The address of `dlsym`; of the process's own before [`set`]. Machine code jumps through it.
pub(crate) static DLSYM: AtomicPtr<c_void> = AtomicPtr::new(libc::dlsym as *mut c_void);
/// The same of `dlvsym`.
pub(crate) static DLVSYM: AtomicPtr<c_void> = AtomicPtr::new(dlvsym_of_process as *mut c_void);

/// Where both are, as `libqmpi.so` has found out.
pub fn set(dlsym: usize, dlvsym: usize) {
    DLSYM.store(core::ptr::with_exposed_provenance_mut(dlsym), Ordering::Relaxed);
    DLVSYM.store(core::ptr::with_exposed_provenance_mut(dlvsym), Ordering::Relaxed);
}

/// `dlsym`.
pub fn dlsym() -> Dlsym {
    // SAFETY: a function of this type is what the name means in the C library.
    unsafe { core::mem::transmute::<*mut c_void, Dlsym>(DLSYM.load(Ordering::Relaxed)) }
}

/// `dlvsym`.
pub fn dlvsym() -> Dlvsym {
    // SAFETY: a function of this type is what this name means in the C library.
    unsafe { core::mem::transmute::<*mut c_void, Dlvsym>(DLVSYM.load(Ordering::Relaxed)) }
}

/// What the process's own scope has under this name, as a preloaded library would find it. A failure allocates.
pub fn global(name: &CStr) -> Option<usize> {
    // SAFETY: `name` is a C string.
    let address = unsafe { dlsym()(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then(|| address.addr())
}
