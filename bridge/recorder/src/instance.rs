//! An instance of the recorder: where it stands in the stack, and what comes next for each function.
#![expect(unsafe_code, reason = "memory that lives as long as the process")]

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicUsize, Ordering};

use qmpi_abi::{COUNT, FnId};

use crate::{interface, thread};

/// How many there may be. The runtime numbers instances one after the other.
const MOST: usize = 1024;

static INSTANCES: [AtomicPtr<RecorderInstance>; MOST] = [const { AtomicPtr::new(ptr::null_mut()) }; MOST];

/// An instance.
#[derive(Debug)]
pub(crate) struct RecorderInstance {
    pub(crate) tool: c_int,
    /// What is called through it: 0 would be the program, 1 is the MPI library, then come the layers from the innermost outwards.
    pub(crate) layer: usize,
    pub(crate) label: String,
    /// By the number of the function.
    pub(crate) slots: [Slot; COUNT],
}

/// What an instance knows of a function.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    next: AtomicUsize,
    next_tool: AtomicI32,
    /// Where its numbers are in the memory of each thread; 0: it has no place yet, or there was none left.
    pub(crate) place: AtomicUsize,
}

/// The instance with this id.
#[inline]
pub(crate) fn of(tool: c_int) -> &'static RecorderInstance {
    let instance = INSTANCES[tool as u32 as usize % MOST].load(Ordering::Acquire);
    // SAFETY: wrappers are registered for instances that are there, and none is ever freed.
    unsafe { &*instance }
}

/// All instances.
pub(crate) fn all() -> impl Iterator<Item = &'static RecorderInstance> {
    // SAFETY: null, or an instance, which is never freed.
    INSTANCES.iter().filter_map(|instance| unsafe { instance.load(Ordering::Acquire).as_ref() })
}

impl RecorderInstance {
    /// An instance whose next functions are not known yet.
    pub(crate) fn new(tool: c_int, layer: usize, label: String) -> RecorderInstance {
        RecorderInstance { tool, layer, label, slots: std::array::from_fn(|_| Slot::default()) }
    }

    /// Makes it known by its id; `false`: there are too many.
    pub(crate) fn publish(self) -> bool {
        let place = &INSTANCES[self.tool as u32 as usize % MOST];
        let instance = Box::into_raw(Box::new(self));
        place.compare_exchange(ptr::null_mut(), instance, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Asks what comes next for a function, and takes places for its numbers. Threads that do so at the same time get the same answer.
    pub(crate) fn prepare(&self, function: usize) {
        let slot = &self.slots[function];
        if slot.next.load(Ordering::Acquire) == 0 {
            let next = FnId::from_index(function).and_then(|id| interface::next(self.tool, id));
            // The runtime calls wrappers of functions that have a next one.
            let (next, next_tool) = next.unwrap_or_else(|| std::process::abort());
            slot.lead_to(next, next_tool);
        }
        thread::take_place(&slot.place, self.layer, function);
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

    /// Sets what comes next.
    pub(crate) fn lead_to(&self, next: usize, next_tool: c_int) {
        self.next_tool.store(next_tool, Ordering::Relaxed);
        self.next.store(next, Ordering::Release);
    }
}
