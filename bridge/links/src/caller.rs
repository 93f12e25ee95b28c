//! The application's return address, kept across PMPI tools: what stubs record on the way into one, and find on the way from there to a QMPI
//! tool. Rust does this where a stub cannot see from one word of the stack whether a call is under way, on AArch64;
//! on x86-64 it is text of the stubs (`arch/x86_64/caller.s`, which says more).
//!
//! A record holds the context, the stack pointer and the return address of the call ([`EnteredCall`]).
#![expect(unsafe_code, reason = "reads the records of a thread")]

use std::sync::atomic::Ordering;

use qmpi_ring::ring::{CALLER_DEPTH, CALLER_RECORD};

use crate::arch::{EnteredCall, thread_pointer};
use crate::{lazy_slots, thread_offsets};

/// A record of the call that came with a context.
type CallerRecord = EnteredCall<usize>;

/// The records of a thread.
#[repr(C)]
struct CallerRecords {
    /// Bytes to the topmost record, less 8.
    top: usize,
    records: [CallerRecord; CALLER_DEPTH],
}

const _: () = assert!(size_of::<CallerRecord>() == CALLER_RECORD);

/// The records of this thread.
fn records() -> &'static mut CallerRecords {
    let offset = thread_offsets::CALLER.load(Ordering::Relaxed);
    let records = std::ptr::with_exposed_provenance_mut::<CallerRecords>(thread_pointer().wrapping_add(offset));
    // SAFETY: a variable of the thread's own, zero at first. A handler of a signal that comes in between changes it, and is gone when this
    // goes on; what it has added is over then.
    unsafe { &mut *records }
}

impl CallerRecords {
    fn index(&self) -> usize {
        (self.top / CALLER_RECORD).min(CALLER_DEPTH - 1)
    }
}

/// Records a call with this return address, from a stub that was entered with the stack pointer `stack`.
pub(crate) extern "C" fn record(context: usize, stack: usize, return_address: usize) {
    let records = records();
    let mut index = records.index();
    // A record of the same context that still holds has the better place, one further up.
    let top = records.records[index];
    if top.key == context && context != return_address && top.holds(stack) {
        return;
    }
    // Calls that are over go, but for the lowest record's place.
    loop {
        let record = &records.records[index];
        if record.place > stack && record.holds(stack) {
            index = (index + 1).min(CALLER_DEPTH - 1);
            break;
        }
        let Some(below) = index.checked_sub(1) else { break };
        index = below;
    }
    records.records[index] = CallerRecord { key: context, place: stack, return_address };
    records.top = index * CALLER_RECORD;
}

/// As [`record`], of a context that is not null where contexts were null so far.
pub(crate) extern "C" fn record_first(context: usize, stack: usize, return_address: usize) {
    if !lazy_slots::CONTEXTS.load(Ordering::SeqCst) {
        lazy_slots::first_context();
    }
    record(context, stack, return_address);
}

/// The context of the topmost record whose call is under way; 0: there is none.
pub(crate) extern "C" fn recall(stack: usize) -> usize {
    let records = records();
    let taken = records.records[..=records.index()].iter().rev();
    taken.filter(|record| record.key != 0).find(|record| record.holds(stack)).map_or(0, |record| record.key)
}

/// The context of the topmost record, over or not.
pub(crate) extern "C" fn topmost() -> usize {
    let records = records();
    records.records[records.index()].key
}
