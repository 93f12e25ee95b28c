//! `libqmpi_core.so`: opened when it is first needed, from the directory of this library.
#![expect(unsafe_code, reason = "dlopen, and a function by its name")]

use core::ffi::{CStr, c_char, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

use qmpi_ring::core_functions::{CoreFunctions, OPEN, Open};
use qmpi_ring::message;

use crate::process::{glibc, own};
use crate::ring::RING;

const FILE: &[u8] = b"libqmpi_core.so\0";
const HINT: &str = "install libqmpi.so and libqmpi_core.so of one build into one directory";
/// `PATH_MAX`
const PATH: usize = 4096;

static FUNCTIONS: AtomicPtr<CoreFunctions> = AtomicPtr::new(null_mut());

/// The core's functions, if it is open.
pub(crate) fn open_already() -> Option<&'static CoreFunctions> {
    // SAFETY: null, or what `functions` has stored, which lives as long as the process.
    unsafe { FUNCTIONS.load(Ordering::Acquire).as_ref() }
}

/// The core's functions; opens it if need be. Several threads may come here at once: `ld.so` opens it once.
pub(crate) fn functions() -> &'static CoreFunctions {
    #[cfg(planted)]
    crate::planted::race();
    if let Some(functions) = open_already() {
        return functions;
    }
    let handle = open();
    // SAFETY: the handle is open, the name a C string.
    let function = unsafe { glibc::dlsym()(handle, OPEN.as_ptr()) };
    if function.is_null() {
        other_build();
    }
    // SAFETY: the core's function of this name has this type.
    let function = unsafe { core::mem::transmute::<*mut c_void, Open>(function) };
    // The core finds it among the words.
    glibc::dlvsym();
    let Some(functions) = function(&RING) else { other_build() };
    FUNCTIONS.store(core::ptr::from_ref(functions).cast_mut(), Ordering::Release);
    functions
}

fn other_build() -> ! {
    message::fatal(&[b"libqmpi_core.so is not of the same build as libqmpi.so"], Some(HINT))
}

fn open() -> *mut c_void {
    let mut path = [0; PATH];
    let own = own::path();
    let mut handle = open_beside(own, &mut path);
    if handle.is_null() {
        // This library may be a symbolic link into an installation.
        let mut target = [0; PATH];
        // SAFETY: a C string, and room for PATH_MAX bytes, which is all that `realpath` writes.
        if !unsafe { libc::realpath(own.as_ptr(), target.as_mut_ptr().cast::<c_char>()) }.is_null() {
            let target = CStr::from_bytes_until_nul(&target).unwrap_or_default();
            handle = open_beside(target, &mut path);
        }
    }
    if handle.is_null() {
        // SAFETY: no requirements.
        let reason = unsafe { libc::dlerror() };
        // SAFETY: null, or a C string that lives until the next call of a function of the dynamic linker.
        let reason = if reason.is_null() { c"" } else { unsafe { CStr::from_ptr(reason) } };
        message::fatal(&[b"the stack cannot be set up: ", reason.to_bytes()], Some(HINT));
    }
    handle
}

/// Opens the core in the directory of the file `own`, or where `ld.so` finds it if `own` is a bare name.
fn open_beside(own: &CStr, path: &mut [u8; PATH]) -> *mut c_void {
    let own = own.to_bytes();
    let directory = own.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let Some(place) = path.get_mut(..directory + FILE.len()) else { return null_mut() };
    for (place, byte) in place.iter_mut().zip(own.iter().take(directory).chain(FILE)) {
        *place = *byte;
    }
    // SAFETY: a C string; the core's constructors are those of Rust's runtime.
    unsafe { glibc::dlopen()(path.as_ptr().cast(), libc::RTLD_NOW | libc::RTLD_LOCAL) }
}
