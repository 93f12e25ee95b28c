//! The destructors of an object: DT_FINI_ARRAY and DT_FINI.
//!
//! `ld.so` runs them, but for those of a clone: all clones share a namespace, in which `ld.so` has an order of its own. A clone's
//! dynamic section has them under other tags, which `ld.so` passes over (`qmpi_elf::write::duplicate`).
#![expect(unsafe_code, reason = "calls destructors of a loaded object")]

use std::sync::atomic::{AtomicUsize, Ordering};

use qmpi_dynamic::{Segments, entries};

use crate::link_map::LinkMap;

const DT_FINI: u64 = 13;
const DT_FINI_ARRAY: u64 = 26;
/// How many bytes the array has.
const DT_FINI_ARRAYSZ: u64 = 28;

/// Where an object has them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Destructors {
    /// The address of the array; 0: there is none.
    array: usize,
    count: usize,
    /// DT_FINI; 0: there is none.
    last: usize,
}

impl Destructors {
    /// Those of an object; `mark`: the bits that their tags have besides, as those of a clone have.
    pub(crate) fn of(map: &'static LinkMap, mark: u64) -> Destructors {
        let mut found = Destructors::default();
        let Some(headers) = map.program_headers() else { return found };
        // SAFETY: `ld.so` has the object loaded there, with these headers, and never unloads it.
        let segments = unsafe { Segments::new(map.base, headers) };
        for (tag, value) in segments.dynamic_section().into_iter().flat_map(entries) {
            let address = map.base.wrapping_add(value as usize);
            match tag {
                _ if tag == DT_FINI | mark => found.last = address,
                _ if tag == DT_FINI_ARRAY | mark => found.array = address,
                _ if tag == DT_FINI_ARRAYSZ | mark => found.count = value as usize / size_of::<usize>(),
                _ => {}
            }
        }
        // What `ld.so` would call lies in the object.
        let array = segments.bytes(found.array).filter(|bytes| bytes.len() / size_of::<usize>() >= found.count);
        if array.is_none() {
            (found.array, found.count) = (0, 0);
        }
        if !segments.contains(found.last) {
            found.last = 0;
        }
        found
    }

    /// Are there others than the one that the compiler puts into each object?
    pub(crate) fn are_there(&self) -> bool {
        self.count > 1
    }

    /// Runs them as `elf/dl-fini.c` does: the last of the array first, then DT_FINI.
    pub(crate) fn run(&self) {
        for index in (0..self.count).rev() {
            let place = std::ptr::with_exposed_provenance_mut::<usize>(self.array + index * size_of::<usize>());
            // SAFETY: a word of the array, which is in the object.
            call(unsafe { AtomicUsize::from_ptr(place) }.load(Ordering::Relaxed));
        }
        if self.last != 0 {
            call(self.last);
        }
    }
}

fn call(address: usize) {
    let function = std::ptr::with_exposed_provenance::<()>(address);
    // SAFETY: a destructor of the object, which `ld.so` would have called in the same way.
    let function = unsafe { std::mem::transmute::<*const (), extern "C" fn()>(function) };
    function();
}
