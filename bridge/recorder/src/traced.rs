//! What is recorded of a call: its arguments, its result, times, and what arguments point to.
#![expect(unsafe_code, reason = "arguments of the program, and memory that is mapped")]

use std::ptr;
use std::sync::atomic::Ordering;

use qmpi_abi::FnId;
use qmpi_abi::trace::{AFTER, AbiStatus, BEFORE, BEGUN, TracedCall, Value};

use crate::arguments::{CallArguments, Signature};
use crate::call_record::CallRecord;
use crate::captures::{self, Capture, OF_STRING};
use crate::log::{self, Log};
use crate::mpi::{self, Mpi};
use crate::pending::{FollowedCall, TakenEntry, Transfers};
use crate::system::ticks;
use crate::thread::ThreadMemory;
use crate::trace;

/// What is known of a function in order to record its calls.
#[derive(Debug)]
pub(crate) struct Traced {
    mpi: &'static Mpi,
    /// Bytes of a record without arrays.
    size: usize,
    captures: Vec<Capture>,
    /// Whether there is one whose value is of interest before the call.
    has_before: bool,
    /// What it does with buffers, if that was asked for and can be known.
    transfers: Option<Transfers>,
}

/// A call that is to be recorded.
#[derive(Clone, Copy)]
pub(crate) struct TraceableCall<'a> {
    pub(crate) thread: &'static ThreadMemory,
    pub(crate) traced: &'a Traced,
    pub(crate) signature: &'a Signature,
    pub(crate) function: usize,
    pub(crate) layer: usize,
    pub(crate) caller: usize,
    pub(crate) words: &'a [u64],
}

/// A call that is being recorded.
#[derive(Debug)]
pub(crate) struct RecordUnderWay {
    /// `None`: it has no record, as it is beyond the limit.
    record: Option<CallRecord>,
    taken: Vec<TakenEntry>,
}

impl Traced {
    /// `None` if calls are not recorded.
    pub(crate) fn of(function: FnId, signature: &Signature) -> Option<Traced> {
        let (_, mpi) = (log::file()?, mpi::get()?);
        let captures = captures::of(signature, mpi.abi);
        Some(Traced {
            mpi,
            size: size_of::<TracedCall>() + 8 * signature.parameters.len(),
            has_before: captures.iter().any(|capture| capture.before),
            captures,
            transfers: if trace::has_contents() { Transfers::of(function, signature) } else { None },
        })
    }

    /// Bytes that the record of a call takes at most.
    fn most(&self, arguments: &CallArguments) -> usize {
        let of = |capture: &Capture| {
            let moments = usize::from(capture.before) + usize::from(capture.after);
            moments * (size_of::<Value>() + capture.most(arguments))
        };
        let hashes = self.transfers.as_ref().map_or(0, |transfers| transfers.most(arguments));
        self.size + self.captures.iter().map(of).sum::<usize>() + hashes * (size_of::<Value>() + 8)
    }
}

impl RecordUnderWay {
    /// The call gets as far as the next function.
    #[inline]
    pub(crate) fn set_start(&self, start: u64) {
        if let Some(record) = &self.record {
            record.set_start(start);
        }
    }
}

impl<'a> TraceableCall<'a> {
    fn followed(&self) -> FollowedCall<'a> {
        let (signature, words, mpi) = (self.signature, self.words, self.traced.mpi);
        let arguments = CallArguments { signature, words, mpi, sizes: &self.thread.sizes };
        FollowedCall { thread: self.thread, caller: self.caller, arguments }
    }

    /// Before the call; `site`: where the program called, 0 if a layer did. `None`: nothing is recorded of it.
    #[inline]
    pub(crate) fn begin(&self, site: usize) -> Option<RecordUnderWay> {
        let thread = self.thread;
        let sequence = thread.sequence.load(Ordering::Relaxed);
        thread.sequence.store(sequence + 1, Ordering::Relaxed);
        let file = log::file()?;
        // The handler of a signal that came in here.
        if thread.is_recording.load(Ordering::Relaxed) != 0 {
            log::lose();
            return None;
        }
        thread.is_recording.store(1, Ordering::Relaxed);
        // SAFETY: one of the thread's logs, which it alone uses, and not twice at once: `is_recording` is set.
        let log = unsafe { &mut *thread.log(self.layer) };
        let begun = if log.admits(thread.number.load(Ordering::Relaxed), file) {
            Some(self.write(log, file, sequence, site))
        } else {
            self.traced.transfers.as_ref().map(|transfers| self.take(transfers, None))
        };
        thread.is_recording.store(0, Ordering::Relaxed);
        begun
    }

    fn write(&self, log: &mut Log, file: &log::CallFile, sequence: u64, site: usize) -> RecordUnderWay {
        let (traced, arguments) = (self.traced, self.followed().arguments);
        let is_plain = traced.captures.is_empty() && traced.transfers.is_none();
        let size = if is_plain { traced.size } else { traced.most(&arguments) };
        let head = TracedCall {
            size: size as u32,
            function: self.function as u16,
            arguments: self.words.len() as u8,
            state: BEGUN,
            layer: self.layer as u16,
            caller: self.caller as u16,
            thread: self.thread.number.load(Ordering::Relaxed) as u32,
            sequence,
            start: 0,
            end: 0,
            result: 0,
            site: site as u64,
            used: traced.size as u32,
            taken: 0,
        };
        let reserved = log.reserve(self.layer as u64, size, file);
        let record = reserved.map(|record| CallRecord::write(record, log, head, self.words));
        if let Some(record) = &record {
            if traced.has_before {
                self.add_values(record, BEFORE, &arguments);
            }
            record.publish();
        }
        match &traced.transfers {
            Some(transfers) => self.take(transfers, record),
            None => RecordUnderWay { record, taken: Vec::new() },
        }
    }

    fn take(&self, transfers: &Transfers, record: Option<CallRecord>) -> RecordUnderWay {
        RecordUnderWay { record, taken: transfers.take(&self.followed(), record.is_some()) }
    }

    /// When it has returned.
    pub(crate) fn end(&self, begun: RecordUnderWay, end: u64, result: u64, is_success: bool) {
        let before = self.thread.is_recording.load(Ordering::Relaxed);
        self.thread.is_recording.store(1, Ordering::Relaxed);
        let call = self.followed();
        let record = begun.record.filter(CallRecord::is_there);
        if let Some(record) = record.as_ref().filter(|_| is_success) {
            self.add_values(record, AFTER, &call.arguments);
        }
        if let Some(transfers) = &self.traced.transfers {
            // It takes its time, which is no layer's.
            let began = ticks();
            transfers.follow(&call, begun.taken, record.as_ref(), is_success);
            self.thread.leave_out(ticks().wrapping_sub(began));
        }
        if let Some(record) = record {
            record.end(end, result);
        }
        self.thread.is_recording.store(before, Ordering::Relaxed);
    }

    /// Adds what arguments point to.
    fn add_values(&self, record: &CallRecord, moment: u8, arguments: &CallArguments) {
        for capture in &self.traced.captures {
            let is_due = if moment == BEFORE { capture.before } else { capture.after };
            let Some(source) = capture.address(arguments).filter(|_| is_due) else { continue };
            let source = ptr::with_exposed_provenance::<u8>(source as usize);
            let (element, all) = match capture.width {
                0 => (1, length(source)),
                width => (u16::from(width), capture.count(arguments) as usize),
            };
            let stored = all.min(capture.most(arguments) / usize::from(element));
            let head = Value { place: capture.place, moment, element, stored: stored as u32, all: all as u64 };
            record.add(head, |target| {
                let bytes = stored * usize::from(element);
                // SAFETY: the function has read or written as much, and there is room for it.
                unsafe { ptr::copy_nonoverlapping(source, target, bytes) };
                if capture.is_asked_about {
                    // What a function will store there is nothing yet that MPI could be asked about.
                    let known = if moment == AFTER { captures::stored_statuses(stored, arguments) } else { 0 };
                    note_statuses(source, target, stored, known, arguments.mpi);
                }
                bytes
            });
        }
    }
}

/// Makes copies of statuses say what MPI says of the first `known` of them.
fn note_statuses(source: *const u8, target: *mut u8, stored: usize, known: usize, mpi: &Mpi) {
    for place in 0..stored {
        // SAFETY: the record has so many copies.
        let copy = unsafe { target.cast::<AbiStatus>().add(place) };
        // SAFETY: a copy in a record of whole words, which nothing else refers to.
        let copy = unsafe { &mut *copy };
        let original = source.expose_provenance() + place * size_of::<AbiStatus>();
        mpi.note_status((place < known).then_some(original as u64), copy);
    }
}

/// How many characters there are before the zero byte; no more than are recorded are looked at.
fn length(text: *const u8) -> usize {
    let is_end = |place: &usize| {
        // SAFETY: the function has read or written the string, whose end is not before here.
        let character = unsafe { text.add(*place) };
        // SAFETY: the same string.
        unsafe { character.read() == 0 }
    };
    (0..OF_STRING).find(is_end).unwrap_or(OF_STRING)
}
