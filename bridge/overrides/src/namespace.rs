//! A private linker namespace as its overrides know it: its first object, its providers, its objects.
//!
//! It is in the list of all from before `ld.so` loads anything into it. Constructors in it run before `dlmopen` says where its
//! first object is, and they may call overrides; then the object is found by the code that calls, and everything that follows from
//! it is filled in: words in memory that is there, to which several threads may write the same.
#![expect(unsafe_code, reason = "dladdr1")]

use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use qmpi_dynamic::LinkerLock;
use qmpi_ring::list::Node;
use qmpi_ring::{List, Published};

use crate::find_object;
use crate::link_map::{Handle, LinkMap};
use crate::object::Object;

/// dlfcn.h; the libc crate lacks it.
const RTLD_DL_LINKMAP: c_int = 2;

unsafe extern "C" {
    /// dlfcn.h; the libc crate lacks it.
    fn dladdr1(address: *const c_void, info: *mut libc::Dl_info, extra: *mut *mut c_void, flags: c_int) -> c_int;
}

/// A namespace. Lives as long as the process.
#[derive(Debug)]
pub struct Namespace {
    /// The path that its first object is loaded from.
    path: &'static CStr,
    /// Its first object, null until it is known.
    head: AtomicPtr<LinkMap>,
    /// The last of the objects that came with the first.
    last: AtomicPtr<LinkMap>,
    providers: List<Provider>,
    /// The objects that the loader listed, in the order of `ld.so`.
    pub objects: Published<&'static Object>,
}

/// A provider in a namespace.
#[derive(Debug)]
pub struct Provider {
    soname: &'static str,
    /// The path that it is loaded from; empty where the object has been known from the beginning.
    path: &'static CStr,
    /// It stands for a library of MPI.
    is_mpi: bool,
    /// Its object, null until it is known.
    map: AtomicPtr<LinkMap>,
}

impl Provider {
    /// The provider `soname`, which will be loaded from `path`.
    pub const fn expected(soname: &'static str, path: &'static CStr, is_mpi: bool) -> Provider {
        Provider { soname, path, is_mpi, map: AtomicPtr::new(core::ptr::null_mut()) }
    }

    /// The provider `soname`, which is loaded.
    pub const fn loaded(soname: &'static str, is_mpi: bool, handle: Handle) -> Provider {
        Provider { soname, path: c"", is_mpi, map: AtomicPtr::new(handle.0.cast()) }
    }

    fn is(&self, handle: Handle) -> bool {
        let map = self.map.load(Ordering::Acquire);
        !map.is_null() && map.cast::<c_void>() == handle.0
    }
}

/// All namespaces.
static ALL: List<Namespace> = List::new(AtomicPtr::new(core::ptr::null_mut()));

impl Namespace {
    /// A namespace whose first object will be loaded from `path`.
    pub const fn expected(path: &'static CStr) -> Namespace {
        Namespace {
            path,
            head: AtomicPtr::new(core::ptr::null_mut()),
            last: AtomicPtr::new(core::ptr::null_mut()),
            providers: List::new(AtomicPtr::new(core::ptr::null_mut())),
            objects: Published::new(AtomicPtr::new(Published::NOWHERE), AtomicUsize::new(0)),
        }
    }

    /// Adds a namespace to the list of all.
    pub fn add(node: &'static mut Node<Namespace>, lock: &LinkerLock) -> &'static Namespace {
        ALL.add(node, lock)
    }

    /// All namespaces of which the first object is known.
    pub fn all() -> impl Iterator<Item = &'static Namespace> {
        ALL.iter().filter(|namespace| namespace.head().is_some())
    }

    /// Adds a provider.
    pub fn add_provider(&self, node: &'static mut Node<Provider>, lock: &LinkerLock) {
        self.providers.add(node, lock);
    }

    /// Its first object is `head`: what `ld.so` has loaded with it is known from now on.
    pub fn set_head(&self, head: &'static LinkMap) {
        if self.head().is_some() {
            return;
        }
        for provider in self.providers.iter().filter(|provider| !provider.path.is_empty()) {
            let found = head.and_following().find(|map| map.name() == provider.path);
            if let Some(map) = found {
                provider.map.store(map.pointer(), Ordering::Release);
            }
        }
        if let Some(last) = head.and_following().last() {
            // What a constructor opens comes behind: the first that looks is right.
            let _ =
                self.last.compare_exchange(core::ptr::null_mut(), last.pointer(), Ordering::AcqRel, Ordering::Acquire);
        }
        self.head.store(head.pointer(), Ordering::Release);
    }

    /// Is its first object known, if need be by the code at `caller` in it?
    pub(crate) fn is_known_at(&self, caller: usize) -> bool {
        if self.head().is_some() {
            return true;
        }
        let first = object_at(caller).and_then(Handle::map).map(LinkMap::first);
        // A library that exists once may have been given the function's address.
        let head = first.filter(|map| map.name() == self.path);
        head.inspect(|head| self.set_head(head)).is_some()
    }

    /// Its first object, which is also what `dlopen(NULL)` gives in it.
    pub fn head(&self) -> Option<&'static LinkMap> {
        // SAFETY: null, or an object of this namespace that is never unloaded.
        unsafe { self.head.load(Ordering::Acquire).as_ref() }
    }

    /// All objects that `ld.so` has in it, in its order. `ld.so`'s lock must be held as soon as the tool has opened libraries.
    pub fn maps(&self) -> impl Iterator<Item = &'static LinkMap> + use<> {
        self.head().into_iter().flat_map(LinkMap::and_following)
    }

    /// Those of them that came with the first: they are never unloaded.
    pub fn first_maps(&self) -> impl Iterator<Item = &'static LinkMap> + use<> {
        let last = self.last.load(Ordering::Acquire).cast_const();
        let mut is_over = false;
        self.maps().take_while(move |map| !core::mem::replace(&mut is_over, core::ptr::eq(*map, last)))
    }

    /// Those that were opened since.
    pub(crate) fn opened_maps(&self) -> impl Iterator<Item = &'static LinkMap> + use<> {
        let last = self.last.load(Ordering::Acquire).cast_const();
        self.maps().skip_while(move |map| !core::ptr::eq(*map, last)).skip(1)
    }

    /// Is there a provider of this SONAME?
    pub fn has_provider(&self, soname: &str) -> bool {
        self.providers.iter().any(|provider| provider.soname == soname)
    }

    /// The object of the provider of this SONAME.
    pub fn provider(&self, soname: &str) -> Option<&'static LinkMap> {
        let provider = self.providers.iter().find(|provider| provider.soname == soname)?;
        Handle(provider.map.load(Ordering::Acquire).cast()).map()
    }

    /// Is this object a provider?
    pub fn is_provider(&self, map: &'static LinkMap) -> bool {
        self.providers.iter().any(|provider| provider.is(Handle::of(map)))
    }

    /// Does the handle stand for a provider of a library of MPI?
    pub(crate) fn is_mpi_provider(&self, handle: Handle) -> bool {
        self.providers.iter().find(|provider| provider.is(handle)).is_some_and(|provider| provider.is_mpi)
    }

    /// Is there a provider of this SONAME that stands for a library of MPI?
    pub(crate) fn has_mpi_provider(&self, soname: &CStr) -> bool {
        self.providers.iter().any(|provider| provider.is_mpi && provider.soname.as_bytes() == soname.to_bytes())
    }

    /// The objects as the loader listed them, with those that it did not.
    pub(crate) fn each_object(&self) -> impl Iterator<Item = (&'static LinkMap, Option<&'static Object>)> {
        let mut listed = self.objects.get().iter().copied().peekable();
        self.maps().map(move |map| (map, listed.next_if(|object| core::ptr::eq(object.map, map))))
    }
}

/// The object that the code at `address` belongs to, in whatever namespace.
pub fn object_at(address: usize) -> Option<Handle> {
    if let Some((map, _)) = find_object::find(address) {
        return Some(Handle(map.cast_mut()));
    }
    // SAFETY: all-zero is a valid value.
    let mut info: libc::Dl_info = unsafe { core::mem::zeroed() };
    let mut map: *mut LinkMap = core::ptr::null_mut();
    // SAFETY: RTLD_DL_LINKMAP stores a pointer to a link map.
    let found = unsafe {
        dladdr1(core::ptr::without_provenance(address), &raw mut info, (&raw mut map).cast(), RTLD_DL_LINKMAP)
    };
    (found != 0 && !map.is_null()).then(|| Handle(map.cast()))
}
