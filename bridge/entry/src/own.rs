//! This library itself: its symbols, and its file.

use core::ffi::CStr;

use qmpi_dynamic::{Mapped, hash};

use crate::glibc;
use crate::ring::RING;

/// An address in this library.
pub(crate) fn address() -> usize {
    core::ptr::from_ref(&RING).addr()
}

/// Its tables.
pub(crate) fn mapped() -> Option<Mapped<'static>> {
    Some(glibc::object_at(address())?.1)
}

/// The path that it was loaded from.
pub(crate) fn path() -> &'static CStr {
    glibc::object_at(address()).map_or(c"", |(map, _)| map.name())
}

/// The address of an exported function of this library.
pub(crate) fn find(name: &CStr) -> Option<usize> {
    Some(mapped()?.find(name.to_bytes(), hash::gnu(name.to_bytes()))?.1)
}
