//! The application's return address, kept across PMPI tools: what stubs note on the way into one, and find on the way from there to a QMPI tool.
//!
//! The records are those of x86-64 (`arch/x86_64/caller.rs`), and live in the same thread-local variable. What differs is the *witness*, which
//! tells that the recorded call is still under way. On x86-64 it is the place on the stack that the call pushed its return address to. Here a
//! call leaves it in `x30`, and the callee stores it wherever its frame has room. So a record holds the stack pointer and the return
//! address of the call, and the call is under way if a frame further down, and below that stack pointer, holds that address: in the
//! chain of frame records (AAPCS64 6.4.6), or, where code is built without, in any word of the stack up to there.
//!
//! A stored return address may be signed (PAC): the bits above those of an address are left out.
#![expect(unsafe_code, reason = "reads the records of a thread, and the stack")]

use std::sync::atomic::Ordering;

use qmpi_ring::arch::aarch64::arguments::KEPT;
use qmpi_ring::ring::{CALLER_DEPTH as DEPTH, CALLER_RECORD as RECORD};

use super::{SMALLEST_PAGE, can_be_read, thread_pointer};
use crate::thread_offsets;

/// How far above a stub's frame the call of a record may lie: more than any tool's frames take, less than a stack.
const DISTANCE: usize = 0x4_0000;
/// How many frame records are looked at.
const FRAMES: usize = 64;
/// The bits of an address of a process's own memory (48; 52 only for those that ask for it).
const ADDRESS: usize = (1 << 48) - 1;

/// A call, as it is recorded.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct CallerRecord {
    context: usize,
    /// The stack pointer of the call, and its return address.
    place: usize,
    return_address: usize,
}

/// The records of a thread.
#[repr(C)]
struct CallerRecords {
    /// Bytes to the topmost record, less 8.
    top: usize,
    records: [CallerRecord; DEPTH],
}

const _: () = assert!(size_of::<CallerRecord>() == RECORD);

/// Is a call under way that was made with the stack pointer `place` and this return address? `stack` is the stack pointer at the entry of a
/// stub, whose frame (`keep_arguments`) is there.
pub(crate) fn is_under_way(place: usize, return_address: usize, stack: usize) -> bool {
    if place < stack {
        return false;
    }
    let wanted = |word: usize| (word ^ return_address) & ADDRESS == 0;
    let mut frame = stack.wrapping_sub(KEPT);
    for _ in 0..FRAMES {
        if !can_be_read(frame, stack) {
            break;
        }
        // SAFETY: a frame record, aligned to 16, in readable memory; two words whatever they hold.
        let [next, saved] = unsafe { std::ptr::with_exposed_provenance::<[usize; 2]>(frame).read_volatile() };
        if wanted(saved) {
            return true;
        }
        if next <= frame || next >= place || !next.is_multiple_of(16) {
            break;
        }
        frame = next;
    }
    if place - stack > DISTANCE {
        return false;
    }
    // Its frame begins at the stack pointer of the call.
    let mut word = place;
    while word > stack {
        word -= size_of::<usize>();
        if (word % SMALLEST_PAGE > SMALLEST_PAGE - 2 * size_of::<usize>() || word + size_of::<usize>() == place)
            && !can_be_read(word, stack)
        {
            return false;
        }
        // SAFETY: a word of a page that can be read.
        if wanted(unsafe { std::ptr::with_exposed_provenance::<usize>(word).read_volatile() }) {
            return true;
        }
    }
    false
}

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
        (self.top / RECORD).min(DEPTH - 1)
    }
}

impl CallerRecord {
    fn holds(&self, stack: usize) -> bool {
        is_under_way(self.place, self.return_address, stack)
    }
}

/// Notes a call with this return address, from a stub that was entered with the stack pointer `stack`.
pub(super) extern "C" fn record(context: usize, stack: usize, return_address: usize) {
    let records = records();
    let mut index = records.index();
    // A record of the same context that still holds has the better place, one further up.
    let top = records.records[index];
    if top.context == context && context != return_address && top.holds(stack) {
        return;
    }
    // Calls that are over go, but for the lowest record's place.
    loop {
        let record = &records.records[index];
        if record.place > stack && record.holds(stack) {
            index = (index + 1).min(DEPTH - 1);
            break;
        }
        let Some(below) = index.checked_sub(1) else { break };
        index = below;
    }
    records.records[index] = CallerRecord { context, place: stack, return_address };
    records.top = index * RECORD;
}

/// As [`record`], of a context that is not null where contexts were null so far.
pub(super) extern "C" fn record_first(context: usize, stack: usize, return_address: usize) {
    if !crate::lazy::CONTEXTS.load(Ordering::SeqCst) {
        crate::lazy::first_context();
    }
    record(context, stack, return_address);
}

/// The context of the topmost record whose call is under way; 0: there is none.
pub(super) extern "C" fn recall(stack: usize) -> usize {
    let records = records();
    let taken = records.records[..=records.index()].iter().rev();
    taken.filter(|record| record.context != 0).find(|record| record.holds(stack)).map_or(0, |record| record.context)
}

/// The context of the topmost record, over or not.
pub(super) extern "C" fn topmost() -> usize {
    let records = records();
    records.records[records.index()].context
}
