//! glibc's list of loaded objects, which is what its handles are.
//!
//! `dl_iterate_phdr` shows the caller's namespace alone; from a handle one comes to the objects of any.
#![expect(unsafe_code, reason = "dlinfo and dlsym")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use libc::{Elf64_Ehdr, Elf64_Phdr};

use crate::image::Image;
use crate::process::dlsym;

/// A request of dlinfo (dlfcn.h) that the libc crate lacks.
const RTLD_DI_PHDR: c_int = 11;

/// An object that `ld.so` loaded: what `dlopen` returns, which in glibc is its link map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Handle(pub(crate) *mut c_void);

// SAFETY: objects in a namespace are never unloaded, and `ld.so` locks its own structures.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

/// The public part of glibc's `struct link_map` (`link.h`).
#[repr(C)]
pub(crate) struct LinkMap {
    pub(crate) base: usize,
    name: *const c_char,
    dynamic: *const c_void,
    next: *const LinkMap,
    pub(crate) previous: *const LinkMap,
}

impl Handle {
    /// The handle of the object that this link map describes: in glibc they are the same.
    pub(crate) fn of(map: &'static LinkMap) -> Handle {
        Handle(std::ptr::from_ref(map).cast_mut().cast())
    }

    /// The object's link map.
    pub(crate) fn map(self) -> Option<&'static LinkMap> {
        // SAFETY: a handle is a link map, and is not closed.
        unsafe { self.0.cast::<LinkMap>().as_ref() }
    }

    /// The object and those that follow it in its namespace.
    pub(crate) fn objects(self) -> impl Iterator<Item = &'static LinkMap> {
        std::iter::successors(self.map(), |map| {
            // SAFETY: the list ends with a null pointer, and none of its objects is ever unloaded.
            unsafe { map.next.as_ref() }
        })
    }

    /// What the object, or one that it needs, has under this name.
    pub(crate) fn find(self, name: &CStr) -> Option<usize> {
        // SAFETY: handles stay open.
        found(unsafe { dlsym::real()(self.0, name.as_ptr()) })
    }

    /// The same in this version.
    pub(crate) fn find_version(self, name: &CStr, version: &CStr) -> Option<usize> {
        // SAFETY: as above.
        found(unsafe { dlsym::real_versioned()(self.0, name.as_ptr(), version.as_ptr()) })
    }
}

/// What `dlsym` has returned.
fn found(address: *mut c_void) -> Option<usize> {
    if address.is_null() {
        // Takes the message back: a later dlerror of the tool must not see it.
        let _ = dlerror();
    }
    (!address.is_null()).then(|| address.addr())
}

impl LinkMap {
    /// The path that it was loaded from; empty for the program.
    pub(crate) fn name(&self) -> &CStr {
        // SAFETY: the name of a link map is a C string.
        unsafe { CStr::from_ptr(self.name) }
    }

    /// Its tables.
    pub(crate) fn image(&'static self) -> Option<Image> {
        Image::at(self.name(), self.base, self.program_headers()?)
    }

    /// Its program headers.
    pub(crate) fn program_headers(&'static self) -> Option<&'static [Elf64_Phdr]> {
        if shows_headers() {
            let mut phdrs: *const Elf64_Phdr = std::ptr::null();
            // SAFETY: stores a pointer, and returns the number of headers.
            let count = unsafe { libc::dlinfo(Handle::of(self).0, RTLD_DI_PHDR, (&raw mut phdrs).cast()) };
            if let Ok(count @ 1..) = usize::try_from(count)
                && !phdrs.is_null()
            {
                // SAFETY: what `ld.so` said; it keeps the headers of a loaded object mapped.
                return Some(unsafe { std::slice::from_raw_parts(phdrs, count) });
            }
            NO_HEADERS.store(true, Ordering::Relaxed);
            // Takes the refusal back: a later dlerror of the tool must not see it.
            let _ = dlerror();
        }
        let header = self.base as *const Elf64_Ehdr;
        // SAFETY: the first segment of a shared object starts with its ELF header, at its base.
        let header = unsafe { header.as_ref() }?;
        if !header.e_ident.starts_with(b"\x7fELF") {
            return None;
        }
        let phdrs = (self.base + header.e_phoff as usize) as *const Elf64_Phdr;
        // SAFETY: the headers follow the ELF header in the first segment.
        Some(unsafe { std::slice::from_raw_parts(phdrs, header.e_phnum.into()) })
    }
}

/// glibc before 2.36 does not know the request; it says so once, when the first object is looked at, as its `dlinfo` allocates memory
/// to refuse.
static NO_HEADERS: AtomicBool = AtomicBool::new(false);

/// Does `dlinfo` say where program headers are? That glibc's `dlinfo` may also be called in a signal handler.
pub(crate) fn shows_headers() -> bool {
    !NO_HEADERS.load(Ordering::Relaxed)
}

/// The last message of the dynamic linker.
pub(crate) fn dlerror() -> String {
    // SAFETY: glibc keeps the message per thread.
    let message = unsafe { libc::dlerror() };
    if message.is_null() {
        return "unknown error of the dynamic linker".into();
    }
    // SAFETY: a C string that lives until the next call.
    unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned()
}
