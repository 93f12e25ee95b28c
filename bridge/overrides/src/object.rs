//! An object of a namespace, as the loader listed it: what asking `ld.so` about it at any time would not be safe for.
#![expect(unsafe_code, reason = "follows pointers to objects that are never freed")]

use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, Ordering};

use libc::Elf64_Phdr;
use qmpi_dynamic::LinkerLock;
use qmpi_dynamic::{Mapped, hash};

use crate::link_map::LinkMap;

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
    next: AtomicPtr<Object>,
}

impl Object {
    /// An object that is in no list yet.
    pub const fn new(
        map: &'static LinkMap,
        headers: &'static [Elf64_Phdr],
        tls_module: usize,
        is_private: bool,
        mapped: Option<Mapped<'static>>,
    ) -> Object {
        Object { map, headers, tls_module, is_private, mapped, next: AtomicPtr::new(core::ptr::null_mut()) }
    }

    /// Does the object define this name?
    pub(crate) fn defines(&self, name: &CStr) -> bool {
        self.mapped.as_ref().is_some_and(|mapped| find(mapped, name).is_some())
    }
}

/// The definition of a name in an object's tables.
pub(crate) fn find<'a>(mapped: &Mapped<'a>, name: &CStr) -> Option<(qmpi_dynamic::Symbol<'a>, usize)> {
    mapped.find(name.to_bytes(), hash::gnu(name.to_bytes()))
}

/// Objects in the order in which they were added; a list that only grows, read at any time.
#[derive(Debug)]
pub struct Objects {
    first: AtomicPtr<Object>,
    last: AtomicPtr<Object>,
}

impl Objects {
    pub(crate) const fn new() -> Objects {
        Objects { first: AtomicPtr::new(core::ptr::null_mut()), last: AtomicPtr::new(core::ptr::null_mut()) }
    }

    /// Adds an object behind all others. An object can be in one list only.
    pub fn add(&self, object: &'static Object, _: &LinkerLock) {
        // SAFETY: null, or an object that was added before.
        let last = unsafe { self.last.load(Ordering::Relaxed).as_ref() };
        let object = core::ptr::from_ref(object).cast_mut();
        last.map_or(&self.first, |last| &last.next).store(object, Ordering::Release);
        self.last.store(object, Ordering::Relaxed);
    }

    /// The object that was added last.
    pub fn last(&self) -> Option<&'static Object> {
        // SAFETY: null, or an object that was added: these are never freed.
        unsafe { self.last.load(Ordering::Acquire).as_ref() }
    }

    /// The objects.
    pub fn iter(&self) -> impl Iterator<Item = &'static Object> + use<> {
        // SAFETY: null, or an object that was added: these are never freed.
        let follow = |place: &AtomicPtr<Object>| unsafe { place.load(Ordering::Acquire).as_ref::<'static>() };
        core::iter::successors(follow(&self.first), move |object| follow(&object.next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_last_comes_last() {
        // SAFETY: no other thread of this test writes.
        let lock = unsafe { LinkerLock::held() };
        let own = crate::namespace::object_at(what_was_added_last_comes_last as fn() as usize).unwrap().map().unwrap();
        let objects = Objects::new();
        assert!(objects.iter().next().is_none());
        for module in [1, 2, 3] {
            objects.add(Box::leak(Box::new(Object::new(own, &[], module, true, None))), &lock);
        }
        assert!(objects.iter().map(|object| object.tls_module).eq([1, 2, 3]));
    }
}
