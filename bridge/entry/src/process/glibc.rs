//! glibc's own functions, found in its own symbol tables.
//!
//! `dlsym`, `dlvsym`, `dlopen` and `dl_iterate_phdr` of the process may be another library's: sanitizers define them, and a sanitizer that
//! is not set up yet crashes when it is called. So their addresses are read from `libc.so.6` (before glibc 2.34: `libdl.so.2`),
//! by way of the list of objects that `ld.so` keeps for debuggers. That list is read without a lock, once: by the first call of
//! `dlsym` or the constructor of this library, when `ld.so` has loaded what the program is linked with and nothing is unloaded.
#![expect(unsafe_code, reason = "follows ld.so's list of objects, and calls functions by address")]

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use qmpi_dynamic::objects::{self, DlIteratePhdr, Info};
use qmpi_dynamic::{Mapped, Segments, hash};
use qmpi_ring::message;
use qmpi_ring::ring::{Dlopen, Dlsym, Dlvsym};

use crate::ring::RING;

/// The public part of glibc's `struct link_map` (`link.h`).
#[repr(C)]
pub(crate) struct LinkMapHead {
    base: usize,
    name: *const c_char,
    dynamic: *const c_void,
    next: *const LinkMapHead,
    previous: *const LinkMapHead,
}

/// The public part of `struct r_debug` (`link.h`).
#[repr(C)]
struct Debug {
    version: c_int,
    map: *const LinkMapHead,
}

unsafe extern "C" {
    static _r_debug: Debug;
}

impl LinkMapHead {
    /// The path that it was loaded from; empty for the program.
    pub(crate) fn name(&self) -> &'static CStr {
        // SAFETY: the name of a link map is a C string that lives as long as the object.
        unsafe { CStr::from_ptr(self.name) }
    }

    /// Its tables, read by way of its ELF header; `None` where that is not at its base, as in a program at a fixed address.
    pub(crate) fn mapped(&self) -> Option<Mapped<'static>> {
        if self.base == 0 {
            return None;
        }
        // SAFETY: `ld.so` maps a shared library from its ELF header on, at its base.
        let header = unsafe { core::ptr::with_exposed_provenance::<libc::Elf64_Ehdr>(self.base).read() };
        if header.e_ident.first_chunk() != Some(b"\x7fELF") {
            return None;
        }
        let headers = core::ptr::with_exposed_provenance::<libc::Elf64_Phdr>(self.base + header.e_phoff as usize);
        // SAFETY: the program headers are in the first segment, behind the ELF header.
        let headers = unsafe { core::slice::from_raw_parts(headers, header.e_phnum.into()) };
        // SAFETY: the object is loaded there, and stays: what the program was linked with is never unloaded.
        Mapped::for_names(unsafe { Segments::new(self.base, headers) })
    }

    /// The definition of a name.
    pub(crate) fn find(&self, name: &CStr) -> Option<usize> {
        Some(self.mapped()?.find(name.to_bytes(), hash::gnu(name.to_bytes()))?.1)
    }
}

/// The objects of the base namespace, the program first.
fn list() -> impl Iterator<Item = &'static LinkMapHead> {
    // SAFETY: `ld.so`'s variable, set before anything else runs.
    let first = unsafe { (&raw const _r_debug.map).read() };
    // SAFETY: the list ends with a null pointer; see the text of this file.
    core::iter::successors(unsafe { first.as_ref() }, |map| unsafe { map.next.as_ref() })
}

/// The program.
pub(crate) fn program() -> Option<&'static LinkMapHead> {
    list().next()
}

/// The object whose segments hold `address`.
pub(crate) fn object_at(address: usize) -> Option<&'static LinkMapHead> {
    list().find(|map| map.mapped().is_some_and(|mapped| mapped.segments().contains(address)))
}

/// The address of a function of glibc, kept in `place`.
fn function(place: &AtomicUsize, name: &CStr) -> usize {
    let mut address = place.load(Ordering::Relaxed);
    if address == 0 {
        let is_glibc = |map: &&LinkMapHead| {
            let path = map.name().to_bytes();
            path.ends_with(b"/libc.so.6") || path.ends_with(b"/libdl.so.2")
        };
        let found = list().filter(is_glibc).find_map(|map| map.find(name));
        address = found.unwrap_or_else(|| message::fatal(&[b"the C library has no ", name.to_bytes()], None));
        place.store(address, Ordering::Relaxed);
    }
    address
}

/// `dlsym`. Its caller decides what RTLD_NEXT means.
pub(crate) fn dlsym() -> Dlsym {
    // SAFETY: a function of this type is what the name means in glibc.
    unsafe { core::mem::transmute::<usize, Dlsym>(function(&RING.glibc.dlsym, c"dlsym")) }
}

/// `dlvsym`. As [`dlsym`].
pub(crate) fn dlvsym() -> Dlvsym {
    // SAFETY: a function of this type is what the name means in glibc.
    unsafe { core::mem::transmute::<usize, Dlvsym>(function(&RING.glibc.dlvsym, c"dlvsym")) }
}

/// `dlopen`.
pub(crate) fn dlopen() -> Dlopen {
    // SAFETY: a function of this type is what the name means in glibc.
    unsafe { core::mem::transmute::<usize, Dlopen>(function(&RING.glibc.dlopen, c"dlopen")) }
}

fn dl_iterate_phdr() -> DlIteratePhdr {
    // SAFETY: a function of this type is what the name means in glibc.
    unsafe { core::mem::transmute::<usize, DlIteratePhdr>(function(&RING.glibc.dl_iterate_phdr, c"dl_iterate_phdr")) }
}

/// Shows `visit` one object of the base namespace after the other, the program first, until it answers.
///
/// `ld.so` holds a lock meanwhile: `visit` must not call it.
pub(crate) fn find_object<T>(visit: impl FnMut(Info<'_>) -> Option<T>) -> Option<T> {
    objects::find_by(dl_iterate_phdr(), visit)
}
