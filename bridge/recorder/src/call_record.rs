//! The record of a call that is under way, and values that are added to it.
#![expect(unsafe_code, reason = "memory that is mapped")]

use std::ptr;
use std::sync::atomic::{Ordering, fence};

use qmpi_abi::trace::{PENDING, RETURNED, TracedCall, Value};

use crate::log::{self, Log};
use crate::thread::ThreadMemory;

/// A record in a log of the calling thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallRecord {
    record: *mut TracedCall,
    log: *mut Log,
    /// Of the log, when the record was begun.
    generation: u64,
}

/// Room for a hash in a record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    value: usize,
    /// What [`Value::moment`] becomes.
    moment: u8,
    log: usize,
    generation: u64,
    thread: u64,
}

impl CallRecord {
    /// Writes the head and the arguments into room that was reserved for them and for what is added.
    pub(crate) fn write(record: *mut TracedCall, log: &mut Log, head: TracedCall, arguments: &[u64]) -> CallRecord {
        // SAFETY: room for it was reserved.
        unsafe { record.write(head) };
        // SAFETY: arguments follow the head.
        let words = unsafe { record.add(1) }.cast::<u64>();
        // SAFETY: room for them was reserved.
        unsafe { ptr::copy_nonoverlapping(arguments.as_ptr(), words, arguments.len()) };
        CallRecord { record, generation: log.generation(), log: ptr::from_mut(log) }
    }

    /// Is the record still there? Calls that came in between may have taken its place, where only the last ones are kept.
    pub(crate) fn is_there(&self) -> bool {
        // SAFETY: a log of the calling thread, which is never unmapped.
        log::file().is_some_and(|file| unsafe { &*self.log }.has(self.generation, file))
    }

    /// The call gets as far as the next function.
    #[inline]
    pub(crate) fn set_start(&self, start: u64) {
        // SAFETY: a record of this thread, which is never unmapped.
        unsafe { (*self.record).start = start };
    }

    /// Adds a value, whose bytes `write` writes to an address, and says how many; returns where the value is.
    pub(crate) fn add(&self, head: Value, write: impl FnOnce(*mut u8) -> usize) -> usize {
        // SAFETY: a record of this thread, which is never unmapped.
        let used = unsafe { &mut (*self.record).used };
        let address = self.record.expose_provenance() + *used as usize;
        // SAFETY: room for it was reserved.
        unsafe { ptr::with_exposed_provenance_mut::<Value>(address).write(head) };
        let bytes = write(ptr::with_exposed_provenance_mut(address + size_of::<Value>()));
        *used += (size_of::<Value>() + bytes.next_multiple_of(8)) as u32;
        address
    }

    /// Adds the hash of a buffer.
    pub(crate) fn add_hash(&self, place: u8, moment: u8, bytes: u64, hash: u64) -> usize {
        self.add(Value { place, moment, element: 8, stored: 1, all: bytes }, |target| {
            // SAFETY: room for it was reserved.
            unsafe { target.cast::<u64>().write(hash) };
            size_of::<u64>()
        })
    }

    /// Adds room for the hash of a buffer that is not filled yet.
    pub(crate) fn add_room(&self, place: u8, moment: u8, thread: &ThreadMemory) -> Room {
        let value = self.add_hash(place, PENDING, 0, 0);
        let (log, thread) = (self.log.expose_provenance(), thread.number.load(Ordering::Relaxed));
        Room { value, moment, log, generation: self.generation, thread }
    }

    /// Tells readers what there is before the call.
    #[inline]
    pub(crate) fn publish(&self) {
        // SAFETY: a log of the calling thread, which is never unmapped.
        unsafe { &*self.log }.publish();
    }

    /// The call has returned.
    pub(crate) fn end(&self, end: u64, result: u64) {
        // SAFETY: a record of this thread, which is never unmapped.
        let record = unsafe { &mut *self.record };
        (record.end, record.result, record.state) = (end, result, RETURNED);
        // SAFETY: the thread's own log, of which it has no other reference.
        unsafe { &mut *self.log }.shorten(record);
    }
}

impl Room {
    /// Puts the hash of so many bytes into it.
    pub(crate) fn fill(self, bytes: u64, hash: u64, thread: &ThreadMemory) {
        let Some(file) = log::file() else { return };
        // SAFETY: a log of this or another thread, none of which is ever unmapped.
        let log = unsafe { &*ptr::with_exposed_provenance::<Log>(self.log) };
        // Where only the last calls are kept, another thread may be about to use the record's place again.
        let is_own = self.thread == thread.number.load(Ordering::Relaxed);
        if file.keeps_last() && !(is_own && log.has(self.generation, file)) {
            return;
        }
        let value = ptr::with_exposed_provenance_mut::<Value>(self.value);
        // SAFETY: the hash follows the head, in the same record.
        let place = unsafe { value.add(1) };
        // SAFETY: records are never unmapped, and their places are used again only where the last ones are kept.
        unsafe { place.cast::<u64>().write(hash) };
        // SAFETY: the head of the room that the call has left.
        unsafe { (*value).all = bytes };
        // Readers look at the moment first.
        fence(Ordering::Release);
        // SAFETY: the head of the room that the call has left.
        let moment = unsafe { &raw mut (*value).moment };
        // SAFETY: the same head, which is never unmapped.
        unsafe { moment.write_volatile(self.moment) };
    }
}
