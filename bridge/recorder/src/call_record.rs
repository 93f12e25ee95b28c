//! The record of a call that is under way, and values that are added to it.
#![expect(unsafe_code, reason = "memory that is mapped")]

use std::ptr;
use std::sync::atomic::{AtomicU8, Ordering};

use qmpi_abi::trace::{AFTER, PENDING, RETURNED, TracedCall, Value};

use crate::log::{self, CallFile, Log};
use crate::thread::ThreadMemory;

/// A record in a log of the calling thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallRecord {
    record: *mut TracedCall,
    log: *mut Log,
    /// Of the log, when the record was begun.
    generation: u64,
}

/// Room for a hash in a record of a thread.
#[derive(Debug)]
pub(crate) struct Room {
    value: *mut Value,
    record: CallRecord,
    thread: u64,
}

// SAFETY: logs are never unmapped, and another thread than the record's writes to the room alone.
unsafe impl Send for Room {}

impl CallRecord {
    /// Begins a record in a log with its head, which says how much room is reserved, and the arguments; `None`: there is no room.
    pub(crate) fn begin(log: &mut Log, file: &CallFile, head: TracedCall, arguments: &[u64]) -> Option<CallRecord> {
        let record = log.reserve(head.layer.into(), head.size as usize, file)?;
        // SAFETY: `reserve` has given the record room for its head.
        unsafe { record.write(head) };
        let words = record.wrapping_add(1).cast::<u64>();
        // SAFETY: room for the arguments was reserved behind the head.
        unsafe { ptr::copy_nonoverlapping(arguments.as_ptr(), words, arguments.len()) };
        Some(CallRecord { record, generation: log.generation, log: ptr::from_mut(log) })
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
    pub(crate) fn add(&self, head: Value, write: impl FnOnce(*mut u8) -> usize) -> *mut Value {
        // SAFETY: a record of this thread, which is never unmapped.
        let used = unsafe { &mut (*self.record).used };
        let value = self.record.wrapping_byte_add(*used as usize).cast::<Value>();
        // SAFETY: the record's head says how much room is reserved, and callers have counted this value in it.
        unsafe { value.write(head) };
        let bytes = write(value.wrapping_add(1).cast());
        *used += (size_of::<Value>() + bytes.next_multiple_of(8)) as u32;
        value
    }

    /// Adds the hash of a buffer.
    pub(crate) fn add_hash(&self, place: u8, moment: u8, bytes: u64, hash: u64) -> *mut Value {
        self.add(Value { place, moment, element: 8, stored: 1, all: bytes }, |target| {
            // SAFETY: callers have counted a word for each hash in the room of the record.
            unsafe { target.cast::<u64>().write(hash) };
            size_of::<u64>()
        })
    }

    /// Adds room for the hash of a buffer that is not filled yet.
    pub(crate) fn add_room(&self, place: u8, thread: &ThreadMemory) -> Room {
        let value = self.add_hash(place, PENDING, 0, 0);
        Room { value, record: *self, thread: thread.number.load(Ordering::Relaxed) }
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
        // Where only the last calls are kept, another thread may be about to use the record's place again.
        let is_own = self.thread == thread.number.load(Ordering::Relaxed);
        if log::file().is_none_or(|file| file.keeps_last && !(is_own && self.record.is_there())) {
            return;
        }
        // SAFETY: the hash follows the head of the room, in a record that is never unmapped and whose place is not used again.
        unsafe { self.value.wrapping_add(1).cast::<u64>().write(hash) };
        // SAFETY: the head of the room that the call has left in that record.
        let head = unsafe { &mut *self.value };
        head.all = bytes;
        // SAFETY: `moment` is a byte of the head, which is never unmapped. Readers look at it first.
        unsafe { AtomicU8::from_ptr(&raw mut head.moment) }.store(AFTER, Ordering::Release);
    }
}
