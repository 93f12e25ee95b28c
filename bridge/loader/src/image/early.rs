//! Objects of the program that `ld.so` is about to initialize, and that do not call `__gmon_start__` before their constructors: they have a
//! DT_INIT of their own (libnuma), or none. A function is called then all the same.
#![expect(unsafe_code, reason = "exchanges what ld.so calls at the beginning of an object")]

use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicUsize, Ordering};

use qmpi_dynamic::initialization::{Arguments, Called};
use qmpi_dynamic::{Mapped, hash, indirect};

use crate::arch;
use crate::image::Image;
use crate::links::callback;

/// What nearly all libraries refer to, and call before their constructors.
pub const GMON_START: &CStr = c"__gmon_start__";

/// An object whose constructors come behind a function.
#[derive(Debug)]
struct Early {
    constructors: Called<'static>,
    /// What is called before them.
    before: fn(),
    /// What `ld.so` calls instead of them: the address of a function.
    instead: AtomicUsize,
}

/// Has `ld.so` call `resolver` for the address of [`GMON_START`], which `image` defines, for each object that it binds from now on. Returns the
/// address that it has; `None` where this is not possible.
///
/// # Safety
/// No other thread opens a library meanwhile; `resolver` can be called while `ld.so` binds an object.
pub unsafe fn ask_for_gmon_start(image: &Image, resolver: extern "C" fn() -> usize) -> Option<usize> {
    let name = GMON_START.to_bytes();
    let (symbol, address) = image.mapped().find(name, hash::gnu(name))?;
    // SAFETY: the image is libqmpi.so, which stays; its symbols are pages away from its code.
    unsafe { indirect::make_indirect(image.mapped(), &symbol, resolver as usize) }.then_some(address)
}

/// Has `before` called when `ld.so` initializes `image`, before the constructors, unless these follow a call of `__gmon_start__`.
///
/// # Safety
/// `ld.so` is binding objects that it has opened, in this thread, this one among them if it refers to [`GMON_START`], and has come to the
/// first of those that do.
pub unsafe fn call_before_constructors(image: &Image, before: fn()) {
    let object = *image.mapped();
    // One that does not refer to it may have been bound already, and be protected.
    if !refers_to_gmon_start(&object) {
        return;
    }
    let Some(constructors) = Called::at_begin(object, 0) else { return };
    let mut code = [0; 32];
    if let Some(bytes) = constructors.single().and_then(|address| object.bytes(address)) {
        bytes.copy_to(&mut code);
    }
    if arch::calls_gmon_start(&code) {
        return;
    }
    let early = &*Box::leak(Box::new(Early { constructors, before, instead: AtomicUsize::new(0) }));
    let Ok(function) = callback::constructor(begin, early) else { return };
    early.instead.store(function, Ordering::Relaxed);
    // SAFETY: as this function's; nothing of the object is protected before it is bound.
    unsafe { constructors.replace(Some(&early.instead), false) };
}

fn refers_to_gmon_start(object: &Mapped<'static>) -> bool {
    let mut undefined = object.tables().undefined();
    undefined.any(|symbol| symbol.is_named(GMON_START.to_bytes()))
}

/// `ld.so` initializes the object.
extern "C" fn begin(
    count: c_int,
    values: *const *const c_char,
    environment: *const *const c_char,
    early: &'static Early,
) {
    // SAFETY: `ld.so` has read what it calls, in this thread, and reads it no more.
    unsafe { early.constructors.restore() };
    (early.before)();
    // SAFETY: `ld.so` would have called them now.
    unsafe { early.constructors.construct(Arguments { count, values, environment }) };
}
