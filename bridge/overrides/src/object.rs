//! An object of a namespace, as the loader listed it: what asking `ld.so` about it at any time would not be safe for.

use core::ffi::CStr;

use libc::Elf64_Phdr;
use qmpi_dynamic::Mapped;

use crate::link_map::{LinkMap, find};

/// An object that is never unloaded.
#[derive(Debug)]
pub struct Object {
    /// `ld.so`'s description of it.
    pub map: &'static LinkMap,
    /// Its program headers.
    pub headers: &'static [Elf64_Phdr],
    /// The number of its thread-local variables; 0: it has none, or this glibc does not tell.
    pub tls_module: usize,
    /// Neither a provider nor `ld.so`: a tool or a library of its own.
    pub is_private: bool,
    /// Its tables; `None` where it has no symbols.
    pub mapped: Option<Mapped<'static>>,
}

impl Object {
    /// Does the object define this name?
    pub(crate) fn defines(&self, name: &CStr) -> bool {
        self.mapped.as_ref().is_some_and(|mapped| find(mapped, name).is_some())
    }
}
