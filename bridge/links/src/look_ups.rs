//! Tools that wrap `dlsym` and `dlvsym`: the program's look-ups reach the wrapper, and go on from it to where they go without it.
//!
//! With a handle, or RTLD_DEFAULT, that is the process's function, which is `libqmpi.so`'s: called from here, as from any object of the
//! program's namespace; or the wrapper of a layer below. RTLD_NEXT means what comes behind the tool, whether the wrapper passes it on for
//! the program or asks for its own next function: that is what the tool's override answers, past the wrappers of layers below, behind
//! which something else would come next.
#![expect(unsafe_code, reason = "calls dlsym for the program")]

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::mem::offset_of;

use qmpi_overrides::Answers;

use crate::arch::machine_code;
use crate::trampoline::{self, Stub};

unsafe extern "C" {
    /// dlfcn.h; the libc crate lacks it.
    fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
}

/// Where a look-up goes on from a wrapper.
#[repr(C)]
struct NextLookUp {
    /// With RTLD_NEXT: the answers of the tool's override.
    answers: *const Answers,
    /// With any other handle: the wrapper of a layer below, or the process's function.
    below: usize,
}

machine_code!(["look_ups"], {
    answers = const offset_of!(NextLookUp, answers),
    below = const offset_of!(NextLookUp, below),
    dlsym = sym qmpi_overrides::arch::dlsym,
    dlvsym = sym qmpi_overrides::arch::dlvsym,
});

unsafe extern "C" {
    // The payload is a `NextLookUp`.
    fn qmpi_next_dlsym();
    fn qmpi_next_dlvsym();
}

/// The functions that `wraps` names of these two, with what the wrappers of the instance with these answers go on to. `below` is what
/// layers below wrap.
pub fn next(
    wraps: &[&str],
    below: &HashMap<&'static CStr, usize>,
    answers: *const Answers,
) -> Vec<(&'static CStr, usize)> {
    let both: [(_, _, Stub, usize); 2] = [
        ("dlsym", c"dlsym", qmpi_next_dlsym, (of_program as *const ()).addr()),
        ("dlvsym", c"dlvsym", qmpi_next_dlvsym, (of_program_versioned as *const ()).addr()),
    ];
    let wrapped = both.into_iter().filter(|(text, ..)| wraps.contains(text));
    let next = wrapped.map(|(_, name, stub, of_program)| {
        let below = below.get(name).copied().unwrap_or(of_program);
        let next = Box::leak(Box::new(NextLookUp { answers, below }));
        (name, trampoline::with_word(stub, std::ptr::from_ref(next).addr()))
    });
    next.collect()
}

/// `dlsym` by the program.
extern "C" fn of_program(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    // SAFETY: the arguments are those of the program's own call, which the wrapper passes on.
    unsafe { libc::dlsym(handle, name) }
}

/// `dlvsym` by the program.
extern "C" fn of_program_versioned(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void {
    // SAFETY: the arguments are those of the program's own call, which the wrapper passes on.
    unsafe { dlvsym(handle, name, version) }
}
