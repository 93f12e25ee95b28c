//! This library itself: its symbols, and its file.
#![expect(unsafe_code, reason = "keeps its own link map")]

use core::ffi::CStr;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

use qmpi_dynamic::Mapped;

use crate::process::glibc::{self, LinkMapHead};
use crate::ring::RING;

/// This library's link map, kept: `ld.so`'s list is read without a lock, and names are looked up for as long as the process runs.
static MAP: AtomicPtr<LinkMapHead> = AtomicPtr::new(null_mut());

/// An address in this library.
pub(crate) fn address() -> usize {
    core::ptr::from_ref(&RING).addr()
}

/// What `ld.so` knows of it.
fn map() -> Option<&'static LinkMapHead> {
    // SAFETY: null, or what was stored below; the link map of the library whose code runs here lives on.
    if let Some(map) = unsafe { MAP.load(Ordering::Relaxed).as_ref() } {
        return Some(map);
    }
    let map = glibc::object_at(address())?;
    MAP.store(core::ptr::from_ref(map).cast_mut(), Ordering::Relaxed);
    Some(map)
}

/// Its tables.
pub(crate) fn mapped() -> Option<Mapped<'static>> {
    map()?.mapped()
}

/// Does an address lie in one of its segments?
pub(crate) fn contains(address: usize) -> bool {
    mapped().is_some_and(|mapped| mapped.segments().contains(address))
}

/// The path that it was loaded from.
pub(crate) fn path() -> &'static CStr {
    map().map_or(c"", LinkMapHead::name)
}

/// The address of an exported function of this library.
pub(crate) fn find(name: &CStr) -> Option<usize> {
    map()?.find(name)
}
