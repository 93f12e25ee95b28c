//! What the overrides of one instance answer from. Made by the loader, complete before the tool's first constructor runs.
#![expect(unsafe_code, reason = "a pointer to a namespace that is never freed")]

use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use qmpi_abi::FnId;
use qmpi_dynamic::{Mapped, hash};
use qmpi_ring::{List, Published};

use crate::environment::{InheritedVariable, Setting, View};
use crate::namespace::Namespace;
use crate::object::Object;

/// A function that is not MPI's, and what comes next.
#[derive(Debug, Clone, Copy)]
pub struct NextOther {
    /// [`qmpi_dynamic::hash::gnu`] of its name.
    pub hash: u32,
    /// Its name.
    pub name: &'static CStr,
    /// The next function.
    pub address: usize,
}

/// The answers. They live as long as the process.
#[derive(Debug)]
pub struct Answers {
    /// The next link of each C function by its number; 0: nothing there.
    pub links: &'static [usize],
    /// The links that `dlsym` finds where they are others.
    pub links_by_name: &'static [(FnId, usize)],
    /// Functions that are not MPI's: what `dlsym(RTLD_NEXT, ...)` finds, where that is a wrapper of a layer below. By hash.
    pub next: &'static [NextOther],
    /// The MPI libraries of the process.
    pub mpi: &'static [Mapped<'static>],
    /// The layer's settings.
    pub settings: &'static [Setting],
    /// The process's environment when the instance was loaded, in a copy of its own.
    pub inherited: &'static [InheritedVariable],
    /// How many files of the tool stand before its own.
    pub before: usize,
    /// The instance's own `environ`, which one with settings has.
    pub view: View,
    /// It is a tool of the base namespace, which has two of the overrides.
    pub is_base: bool,
    /// Its namespace; null before that is about to be loaded.
    namespace: AtomicPtr<Namespace>,
    /// The objects in which a look-up by the tool's own handle searches; empty while the tool is being loaded.
    pub scope: Published<&'static Object>,
    /// The names by which the tool opened libraries with RTLD_GLOBAL, which a namespace cannot have.
    pub opened_global: List<&'static CStr>,
}

impl Answers {
    /// Those of an instance that goes on with `links` in a process with these MPI libraries.
    pub const fn new(links: &'static [usize], mpi: &'static [Mapped<'static>]) -> Answers {
        Answers {
            links,
            links_by_name: &[],
            next: &[],
            mpi,
            settings: &[],
            inherited: &[],
            before: 0,
            view: View::new(),
            is_base: false,
            namespace: AtomicPtr::new(core::ptr::null_mut()),
            scope: Published::new(AtomicPtr::new(Published::NOWHERE), AtomicUsize::new(0)),
            opened_global: List::new(AtomicPtr::new(core::ptr::null_mut())),
        }
    }

    /// The next link of a name of MPI as `dlsym` finds it.
    pub(crate) fn link_by_name(&self, name: &str) -> Option<usize> {
        let is_it = |(id, _): &&(FnId, usize)| id.name() == name;
        let other = self.links_by_name.iter().find(is_it).map(|(_, address)| *address);
        other.or_else(|| {
            let id = qmpi_abi::classify(name)?.c_function()?;
            self.links.get(id.index()).copied().filter(|address| *address != 0)
        })
    }

    /// The wrapper of a layer below of a function that is not MPI's.
    pub(crate) fn next_by_name(&self, name: &CStr) -> Option<usize> {
        if self.next.is_empty() {
            return None;
        }
        let hash = hash::gnu(name.to_bytes());
        let first = self.next.partition_point(|next| next.hash < hash);
        let mut same = self.next.iter().skip(first).take_while(|next| next.hash == hash);
        same.find(|next| next.name == name).map(|next| next.address)
    }

    /// Sets its namespace, before a constructor in it can run.
    pub fn set_namespace(&self, namespace: &'static Namespace) {
        self.namespace.store(core::ptr::from_ref(namespace).cast_mut(), Ordering::Release);
    }

    /// What [`Answers::set_namespace`] was given.
    fn expected_namespace(&self) -> Option<&'static Namespace> {
        // SAFETY: null, or what `set_namespace` was given.
        unsafe { self.namespace.load(Ordering::Acquire).as_ref() }
    }

    /// Its namespace, once that is loaded.
    pub fn loaded_namespace(&self) -> Option<&'static Namespace> {
        self.expected_namespace().filter(|namespace| namespace.head().is_some())
    }

    /// Its namespace, for the code at `caller`, the return address of a call of the tool. `None` where that code is not in it, and
    /// `ld.so` is still loading it.
    pub fn namespace(&self, caller: usize) -> Option<&'static Namespace> {
        self.expected_namespace().filter(|namespace| namespace.is_known_at(caller))
    }
}
