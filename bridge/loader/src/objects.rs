//! The objects of the base namespace, as `ld.so` lists them.
#![expect(unsafe_code, reason = "dl_iterate_phdr has no safe wrapper")]

use std::ffi::{c_int, c_void};

use libc::dl_phdr_info;

/// Shows `look` one object after the other, the executable first, until it answers.
///
/// `ld.so` holds a lock meanwhile: `look` must not open or close a library.
pub fn find<T>(mut look: impl FnMut(&dl_phdr_info) -> Option<T>) -> Option<T> {
    let mut found = None;
    visit(&mut |info| {
        found = look(info);
        found.is_some()
    });
    found
}

type Visitor<'a> = &'a mut dyn FnMut(&dl_phdr_info) -> bool;

fn visit(mut visitor: Visitor<'_>) {
    extern "C" fn call(info: *mut dl_phdr_info, _: usize, visitor: *mut c_void) -> c_int {
        // SAFETY: `ld.so` hands a valid description to each call.
        let info = unsafe { &*info };
        // SAFETY: the one below, which outlives the iteration and is used by nobody else meanwhile.
        let visitor = unsafe { &mut *visitor.cast::<Visitor<'_>>() };
        visitor(info).into()
    }
    // SAFETY: the callback's type is what the function wants; a panic in it ends the process instead of unwinding into C.
    unsafe { libc::dl_iterate_phdr(Some(call), (&raw mut visitor).cast()) };
}
