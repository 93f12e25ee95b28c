//! An instance of the recorder: the edge of the stack that it is on, and what comes next for each function.
#![expect(unsafe_code, reason = "memory that lives as long as the process")]

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicUsize, Ordering};

use qmpi_abi::{COUNT, FnId};

use crate::{interface, record, wrappers};

/// How many there may be. The runtime numbers instances one after the other.
const MOST: usize = 1024;

static EDGES: [AtomicPtr<Edge>; MOST] = [const { AtomicPtr::new(ptr::null_mut()) }; MOST];

/// An instance.
#[derive(Debug)]
pub(crate) struct Edge {
    pub(crate) tool: c_int,
    /// What is called through it: 0 would be the program, 1 is the MPI library, then come the layers from the innermost outwards.
    pub(crate) layer: usize,
    pub(crate) label: String,
    slots: [Slot; COUNT],
}

/// A function.
#[derive(Debug)]
pub(crate) struct Slot {
    next: AtomicUsize,
    next_tool: AtomicI32,
    /// Where its numbers are in the memory of each thread; 0: it has no place yet.
    pub(crate) place: AtomicUsize,
}

/// The init callback: a new instance.
pub(crate) extern "C" fn add(tool: c_int) {
    let Some((place, label)) = interface::layer(tool) else { return };
    if !record::prepare() || !Edge::new(tool, place + 1, label).publish() {
        return;
    }
    for (function, wrapper) in wrappers::all() {
        interface::register(tool, function, wrapper);
    }
    record::describe();
}

/// The instance with this id.
#[inline]
pub(crate) fn of(tool: c_int) -> &'static Edge {
    let edge = EDGES[tool as u32 as usize % MOST].load(Ordering::Acquire);
    // SAFETY: wrappers are registered for instances that are there, and none is ever freed.
    unsafe { &*edge }
}

/// All instances.
pub(crate) fn all() -> impl Iterator<Item = &'static Edge> {
    // SAFETY: null, or an instance, which is never freed.
    EDGES.iter().filter_map(|edge| unsafe { edge.load(Ordering::Acquire).as_ref() })
}

impl Edge {
    /// An instance whose next functions are not known yet.
    pub(crate) fn new(tool: c_int, layer: usize, label: String) -> Edge {
        let slot = || Slot { next: AtomicUsize::new(0), next_tool: AtomicI32::new(0), place: AtomicUsize::new(0) };
        Edge { tool, layer, label, slots: std::array::from_fn(|_| slot()) }
    }

    /// Makes it known by its id; `false`: there are too many.
    pub(crate) fn publish(self) -> bool {
        let place = &EDGES[self.tool as u32 as usize % MOST];
        let edge = Box::into_raw(Box::new(self));
        place.compare_exchange(ptr::null_mut(), edge, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// A function.
    #[inline]
    pub(crate) fn slot(&self, function: usize) -> &Slot {
        &self.slots[function]
    }
}

impl Slot {
    /// Has it been called?
    #[inline]
    pub(crate) fn is_known(&self) -> bool {
        self.place.load(Ordering::Acquire) != 0 && self.next.load(Ordering::Acquire) != 0
    }

    /// What comes next, and the id to pass.
    #[inline]
    pub(crate) fn next(&self) -> (usize, c_int) {
        (self.next.load(Ordering::Acquire), self.next_tool.load(Ordering::Relaxed))
    }

    /// Asks what comes next. Threads that ask at the same time get the same answer.
    pub(crate) fn find_next(&self, edge: &Edge, function: usize) {
        if self.next.load(Ordering::Acquire) == 0 {
            let next = FnId::from_index(function).and_then(|id| interface::next(edge.tool, id));
            // The runtime calls wrappers of functions that have a next one.
            let (next, next_tool) = next.unwrap_or_else(|| std::process::abort());
            self.lead_to(next, next_tool);
        }
    }

    /// Sets what comes next.
    pub(crate) fn lead_to(&self, next: usize, next_tool: c_int) {
        self.next_tool.store(next_tool, Ordering::Relaxed);
        self.next.store(next, Ordering::Release);
    }
}
