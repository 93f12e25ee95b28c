//! The objects of the caller's namespace, as `ld.so` lists them.
//!
//! # What a closure here may do
//! It runs while `ld.so` holds the lock of its list, in any state of the process: it must not allocate, must not take a lock,
//! and must not call `ld.so`. What it is shown is there for the time of the call only, and the types say so: neither
//! [`Info`] nor a [`Mapped`](crate::Mapped) that is made of it can be kept.
#![expect(unsafe_code, reason = "dl_iterate_phdr has no safe wrapper")]

use core::ffi::{CStr, c_char, c_int, c_void};

use libc::dl_phdr_info;

use crate::segments::Segments;

/// The description of one object.
#[derive(Clone, Copy)]
pub struct Info<'a>(&'a dl_phdr_info);

impl<'a> Info<'a> {
    /// What a callback of `dl_iterate_phdr` was given.
    ///
    /// # Safety
    /// It describes an object that stays loaded as long as `'a` lasts: that of the callback, or for ever.
    pub const unsafe fn new(info: &'a dl_phdr_info) -> Info<'a> {
        Info(info)
    }

    /// The path that it was loaded from; empty for the program.
    pub fn name(self) -> &'a CStr {
        // SAFETY: the object stays as long as `'a` lasts.
        unsafe { self.kept_name() }
    }

    /// Its segments; none where `ld.so` has no program headers.
    pub fn segments(self) -> Segments<'a> {
        // SAFETY: the object stays as long as `'a` lasts.
        unsafe { self.kept_segments() }
    }

    /// [`Info::name`] for longer than the description itself is there.
    ///
    /// # Safety
    /// The object stays loaded as long as `'b` lasts.
    pub unsafe fn kept_name<'b>(self) -> &'b CStr {
        if self.0.dlpi_name.is_null() {
            return c"";
        }
        // SAFETY: `dlpi_name` is a C string that lives as long as the object.
        unsafe { c_string(self.0.dlpi_name) }
    }

    /// [`Info::segments`] for longer than the description itself is there.
    ///
    /// # Safety
    /// The object stays loaded as long as `'b` lasts.
    pub unsafe fn kept_segments<'b>(self) -> Segments<'b> {
        let headers = match self.0.dlpi_phdr.is_null() {
            true => &[],
            // SAFETY: `ld.so` keeps the program headers of a loaded object mapped.
            false => unsafe { core::slice::from_raw_parts(self.0.dlpi_phdr, self.0.dlpi_phnum.into()) },
        };
        // SAFETY: what `ld.so` reports, of an object that stays.
        unsafe { Segments::new(self.0.dlpi_addr as usize, headers) }
    }

    /// How many objects were ever loaded and unloaded: equal numbers mean that the list is as it was.
    pub fn generation(self) -> (u64, u64) {
        (self.0.dlpi_adds, self.0.dlpi_subs)
    }

    /// All that `ld.so` says.
    pub fn raw(self) -> &'a dl_phdr_info {
        self.0
    }
}

/// Without `strlen`, which may be the function of a sanitizer that is not ready.
///
/// # Safety
/// As [`CStr::from_ptr`].
unsafe fn c_string<'a>(start: *const c_char) -> &'a CStr {
    let mut len = 0_usize;
    // SAFETY: the string has not ended before. Volatile, or the compiler would recognize `strlen` in the loop.
    while unsafe { start.wrapping_add(len).read_volatile() } != 0 {
        len = len.wrapping_add(1);
    }
    // SAFETY: the bytes up to the NUL were read one by one.
    let bytes = unsafe { core::slice::from_raw_parts(start.cast::<u8>(), len.wrapping_add(1)) };
    // SAFETY: the last byte is the first NUL.
    unsafe { CStr::from_bytes_with_nul_unchecked(bytes) }
}

/// Shows `visit` one object after the other, the executable first. The module says what `visit` may do.
pub fn for_each(mut visit: impl FnMut(Info<'_>)) {
    let _: Option<()> = find(|info| {
        visit(info);
        None
    });
}

/// Shows `look` one object after the other, the executable first, until it answers. The module says what `look` may do.
pub fn find<T>(look: impl FnMut(Info<'_>) -> Option<T>) -> Option<T> {
    find_by(libc::dl_iterate_phdr, look)
}

/// The type of `dl_iterate_phdr`.
pub type DlIteratePhdr = unsafe extern "C" fn(Option<PhdrCallback>, *mut c_void) -> c_int;
/// The type of its callback.
type PhdrCallback = unsafe extern "C" fn(*mut dl_phdr_info, usize, *mut c_void) -> c_int;

type Visitor<'a> = &'a mut dyn FnMut(Info<'_>) -> bool;

/// The same by this `dl_iterate_phdr`: the process may have several.
pub fn find_by<T>(iterate: DlIteratePhdr, mut look: impl FnMut(Info<'_>) -> Option<T>) -> Option<T> {
    let mut found = None;
    visit_by(iterate, &mut |info| {
        found = look(info);
        found.is_some()
    });
    found
}

fn visit_by(iterate: DlIteratePhdr, mut visitor: Visitor<'_>) {
    unsafe extern "C" fn call(info: *mut dl_phdr_info, _: usize, visitor: *mut c_void) -> c_int {
        // SAFETY: `ld.so` hands a valid description to each call.
        let info = unsafe { &*info };
        // SAFETY: the object stays as long as the call lasts, and the closure cannot keep what it is shown.
        let info = unsafe { Info::new(info) };
        // SAFETY: `visit_by` passes its own `visitor`, which outlives the iteration, and which nothing else uses meanwhile.
        let visitor = unsafe { &mut *visitor.cast::<Visitor<'_>>() };
        visitor(info).into()
    }
    // SAFETY: the callback's type is what the function wants; a panic in it ends the process instead of unwinding into C.
    unsafe { iterate(Some(call), (&raw mut visitor).cast()) };
}
