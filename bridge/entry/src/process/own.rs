//! This library itself: its file, its symbols, and the functions of MPI that these are.
#![expect(unsafe_code, reason = "keeps its own link map")]

use core::ffi::CStr;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

use qmpi_abi::FnId;
use qmpi_dynamic::Mapped;

use crate::arch;
use crate::process::glibc::{self, LinkMapHead};
use crate::ring::{RING, SLOTS};

/// This library's link map, kept: `ld.so`'s list is read without a lock, and names are looked up for as long as the process runs.
static MAP: AtomicPtr<LinkMapHead> = AtomicPtr::new(null_mut());

/// An address in this library.
pub(crate) fn address() -> usize {
    RING.address()
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

/// Does an address lie in one of its segments?
pub(crate) fn contains(address: usize) -> bool {
    map().and_then(LinkMapHead::mapped).is_some_and(|mapped| mapped.segments().contains(address))
}

/// The path that it was loaded from.
pub(crate) fn path() -> &'static CStr {
    map().map_or(c"", LinkMapHead::name)
}

/// The address of an exported function of this library.
pub(crate) fn find(name: &CStr) -> Option<usize> {
    map()?.find(name)
}

/// The function of MPI of an unshifted name that this library exports; most names are told apart by their first letters.
pub(crate) fn function(name: &CStr) -> Option<FnId> {
    if may_be_function(name) { function_at(find(name)?) } else { None }
}

/// Are the first letters those of a name of MPI?
pub(crate) fn may_be_function(name: &CStr) -> bool {
    let bytes = name.to_bytes();
    bytes.starts_with(b"MPI") || bytes.starts_with(b"OMPI_")
}

/// The same of the first four letters of a name, which has as many or ends before.
pub(crate) fn may_begin_function(start: [u8; 4]) -> bool {
    start.starts_with(b"MPI") || start == *b"OMPI"
}

/// The function of MPI whose entry stub is at `address`.
pub(crate) fn function_at(address: usize) -> Option<FnId> {
    let slot = arch::slot_at(address)?;
    FnId::from_index(slot.wrapping_sub(core::ptr::from_ref(&SLOTS).addr()) / size_of::<usize>())
}

/// The C name of a function of MPI: that of its entry stub.
pub(crate) fn name_of(id: FnId) -> Option<&'static CStr> {
    let own: Mapped<'static> = map()?.mapped()?;
    let is_it = |address| function_at(address) == Some(id);
    own.tables().symbols().find(|symbol| symbol.is_defined() && is_it(own.address(symbol)))?.name()
}
