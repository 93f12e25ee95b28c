//! glibc's list of loaded objects, which is what its handles are.
//!
//! `dl_iterate_phdr` shows the caller's namespace alone; from a handle one comes to the objects of any.
#![expect(unsafe_code, reason = "dlinfo and dlsym, and the structures of the dynamic linker")]

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering};

use libc::{Elf64_Ehdr, Elf64_Phdr};
use qmpi_dynamic::{Mapped, Segments, Symbol, hash};

use crate::{find_object, glibc};

/// A request of dlinfo (dlfcn.h) that the libc crate lacks.
const RTLD_DI_PHDR: c_int = 11;

/// An object that `ld.so` loaded: what `dlopen` returns, which in glibc is its link map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handle(pub *mut c_void);

// SAFETY: objects in a namespace are never unloaded, and `ld.so` locks its own structures.
unsafe impl Send for Handle {}
// SAFETY: a handle is shared as `ld.so` shares it between threads: by calls of its functions, which lock.
unsafe impl Sync for Handle {}

/// The public part of glibc's `struct link_map` (`link.h`).
#[derive(Debug)]
#[repr(C)]
pub struct LinkMap {
    /// What is added to the addresses in the file.
    pub base: usize,
    name: *const c_char,
    dynamic: *const c_void,
    next: *const LinkMap,
    previous: *const LinkMap,
}

// SAFETY: link maps are only read here; `ld.so` writes to them under its lock.
unsafe impl Sync for LinkMap {}

impl Handle {
    /// The handle of the object that this link map describes: in glibc they are the same.
    pub fn of(map: &'static LinkMap) -> Handle {
        Handle(map.pointer().cast())
    }

    /// The object's link map.
    pub fn map(self) -> Option<&'static LinkMap> {
        // SAFETY: a handle is a link map, and is not closed.
        unsafe { self.0.cast::<LinkMap>().as_ref() }
    }

    /// What the object, or one that it needs, has under this name, as the C library's `dlsym` says: a failure allocates.
    pub fn find(self, name: &CStr) -> Option<usize> {
        // SAFETY: handles stay open.
        found(unsafe { glibc::dlsym()(self.0, name.as_ptr()) })
    }

    /// The same in this version.
    pub fn find_version(self, name: &CStr, version: &CStr) -> Option<usize> {
        // SAFETY: handles stay open, and both names are C strings.
        found(unsafe { glibc::dlvsym()(self.0, name.as_ptr(), version.as_ptr()) })
    }
}

/// What `dlsym` has returned.
fn found(address: *mut c_void) -> Option<usize> {
    if address.is_null() {
        take_message_back();
    }
    (!address.is_null()).then(|| address.addr())
}

/// How far a walk over what libraries need goes: farther than they need each other. A stack that a signal handler has must do.
pub(crate) const DEEPEST: usize = 8;

/// The definition of a name in an object's tables.
pub(crate) fn find<'a>(mapped: &Mapped<'a>, name: &CStr) -> Option<(Symbol<'a>, usize)> {
    mapped.find(name.to_bytes(), hash::gnu(name.to_bytes()))
}

impl LinkMap {
    pub(crate) fn pointer(&'static self) -> *mut LinkMap {
        core::ptr::from_ref(self).cast_mut()
    }

    /// The path that it was loaded from; empty for the program.
    pub fn name(&self) -> &CStr {
        // SAFETY: the name of a link map is a C string.
        unsafe { CStr::from_ptr(self.name) }
    }

    /// Did `dlopen`, or a DT_NEEDED, mean this object by this name? By its path, by its SONAME, or by its file's name where the path
    /// was searched for, or has `$ORIGIN` in it.
    pub(crate) fn is_named(&self, name: &CStr) -> bool {
        let (path, name) = (self.name().to_bytes(), name.to_bytes());
        let file =
            |path: &'_ [u8]| path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash.saturating_add(1));
        let is_searched = !name.contains(&b'/') || name.contains(&b'$');
        let same_file = || path.get(file(path)..).is_some_and(|last| name.get(file(name)..) == Some(last));
        path == name || is_searched && same_file()
    }

    /// The object and those that follow it in its namespace.
    pub fn and_following(&'static self) -> impl Iterator<Item = &'static LinkMap> {
        core::iter::successors(Some(self), |map| {
            // SAFETY: the list ends with a null pointer. Of its objects those that came with the first are never unloaded; for
            // others the caller has the lock of the list.
            unsafe { map.next.as_ref() }
        })
    }

    /// The first object of its namespace.
    pub(crate) fn first(&'static self) -> &'static LinkMap {
        let mut map = self;
        // SAFETY: neighbours in the list of a namespace, which is never unloaded.
        while let Some(previous) = unsafe { map.previous.as_ref() } {
            map = previous;
        }
        map
    }

    /// Is it `ld.so`, which glibc puts into every namespace?
    pub fn is_linker(&self) -> bool {
        // SAFETY: reads the auxiliary vector.
        self.base == unsafe { libc::getauxval(libc::AT_BASE) } as usize
    }

    /// Its tables, for a look at some names.
    pub fn mapped(&'static self) -> Option<Mapped<'static>> {
        // SAFETY: `ld.so` has the object loaded there, with these headers; see `and_following` for how long.
        Mapped::for_names(unsafe { Segments::new(self.base, self.program_headers()?) })
    }

    /// Does it define the name?
    pub(crate) fn defines(&'static self, name: &CStr) -> bool {
        self.mapped().is_some_and(|mapped| find(&mapped, name).is_some())
    }

    /// Does an object of `maps` behind the one with the code at `caller` define the name? `None`: that code is in none of them.
    pub(crate) fn defined_behind(
        mut maps: impl Iterator<Item = &'static LinkMap>,
        caller: usize,
        name: &CStr,
    ) -> Option<bool> {
        maps.find(|map| map.mapped().is_some_and(|mapped| mapped.segments().contains(caller)))?;
        Some(maps.any(|map| map.defines(name)))
    }

    /// Its program headers.
    pub fn program_headers(&'static self) -> Option<&'static [Elf64_Phdr]> {
        /// A file may have them anywhere; what is mapped without doubt is the first page.
        const FIRST_PAGE: usize = 4096;
        let start = find_object::find(self.dynamic.addr()).filter(|(map, _)| core::ptr::eq(map.cast(), self));
        let in_first_page = start.and_then(|(_, start)| headers_at(start, FIRST_PAGE));
        in_first_page.or_else(|| self.headers_by_dlinfo()).or_else(|| headers_at(self.base, usize::MAX))
    }

    fn headers_by_dlinfo(&'static self) -> Option<&'static [Elf64_Phdr]> {
        if !shows_headers() {
            return None;
        }
        let mut phdrs: *const Elf64_Phdr = core::ptr::null();
        // SAFETY: this request stores a pointer, and `phdrs` is one; it returns the number of headers.
        let count = unsafe { libc::dlinfo(Handle::of(self).0, RTLD_DI_PHDR, (&raw mut phdrs).cast()) };
        if let Ok(count @ 1..) = usize::try_from(count)
            && !phdrs.is_null()
        {
            // SAFETY: `ld.so` said that so many headers are there, and keeps those of a loaded object mapped.
            return Some(unsafe { core::slice::from_raw_parts(phdrs, count) });
        }
        NO_HEADERS.store(true, Ordering::Relaxed);
        take_message_back();
        None
    }
}

/// The program headers, by the ELF header with which an object's first segment begins; `None`: there is none, or they do not end in so
/// many bytes.
fn headers_at(start: usize, most: usize) -> Option<&'static [Elf64_Phdr]> {
    let header: *const Elf64_Ehdr = core::ptr::with_exposed_provenance(start);
    // SAFETY: the first segment is mapped and readable.
    let header = unsafe { header.as_ref() }?;
    if !header.e_ident.starts_with(b"\x7fELF") {
        return None;
    }
    let (offset, count) = (usize::try_from(header.e_phoff).ok()?, usize::from(header.e_phnum));
    if offset.checked_add(count.checked_mul(size_of::<Elf64_Phdr>())?)? > most {
        return None;
    }
    let phdrs = core::ptr::with_exposed_provenance(start.checked_add(offset)?);
    // SAFETY: the headers follow the ELF header in the first segment.
    Some(unsafe { core::slice::from_raw_parts(phdrs, count) })
}

/// glibc before 2.36 does not know the request; it says so once, when the loader looks at the first object: its `dlinfo` allocates
/// memory to refuse.
static NO_HEADERS: AtomicBool = AtomicBool::new(false);

/// Does `dlinfo` say where program headers are? That glibc's `dlinfo` may also be called in a signal handler.
pub fn shows_headers() -> bool {
    !NO_HEADERS.load(Ordering::Relaxed)
}

/// Takes back what a failed request told the dynamic linker to say: a later `dlerror` of the tool must not see it.
fn take_message_back() {
    // SAFETY: glibc keeps the message per thread.
    unsafe { libc::dlerror() };
}

#[cfg(test)]
mod tests {
    use crate::namespace::object_at;

    #[test]
    fn names_by_which_an_object_is_meant() {
        let own = object_at(names_by_which_an_object_is_meant as fn() as usize).unwrap().map().unwrap();
        let library = own.and_following().find(|map| map.name().to_bytes().ends_with(b"/libc.so.6")).unwrap();
        for name in [library.name(), c"libc.so.6", c"$ORIGIN/libc.so.6"] {
            assert!(library.is_named(name), "{name:?}");
        }
        for name in [c"", c"libc.so", c"c.so.6", c"/libc.so.6", c"./libc.so.6", c"libm.so.6"] {
            assert!(!library.is_named(name), "{name:?}");
        }
    }
}
