//! What is recorded of a call: its arguments, its result, times, and what arguments point to.
#![expect(unsafe_code, reason = "arguments of the program, and memory that is mapped")]

use std::ptr;
use std::sync::atomic::Ordering;

use qmpi_abi::trace::{AFTER, AbiStatus, BEFORE, BEGUN, TracedCall, Value};

use crate::arguments::{CallArguments, Signature};
use crate::call_record::CallRecord;
use crate::captures::{self, Capture, OF_STRING};
use crate::log::{self, CallFile, Log};
use crate::mpi::{self, Mpi};
use crate::pending::{TakenEntry, Transfers};
use crate::system::ticks;
use crate::thread::ThreadMemory;
use crate::trace;

/// What is known of a function in order to record its calls.
#[derive(Debug)]
pub(crate) struct Traced {
    /// Bytes of a record without arrays.
    size: usize,
    captures: Vec<Capture>,
    /// Whether there is one whose value is of interest before the call.
    has_before: bool,
    /// What it does with buffers, if that was asked for and can be known.
    transfers: Option<Transfers>,
}

/// A call that is being recorded.
#[derive(Debug)]
pub(crate) struct RecordUnderWay {
    /// `None`: it has no record, as it is beyond the limit.
    pub(crate) record: Option<CallRecord>,
    taken: Vec<TakenEntry>,
}

/// A call that is recorded: its thread records it from now on, and [`Traced::begin`] ends that.
#[derive(Debug)]
pub(crate) struct AdmittedCall {
    file: &'static CallFile,
    /// It is the thread's one with this number.
    sequence: u64,
    /// Otherwise it is beyond the limit, and only what it moves is followed.
    has_record: bool,
}

impl Traced {
    /// `None` if calls are not recorded.
    pub(crate) fn of(signature: &Signature) -> Option<Traced> {
        let (_, mpi) = (log::file()?, mpi::get()?);
        let captures = captures::of(signature, mpi.abi);
        Some(Traced {
            size: size_of::<TracedCall>() + 8 * signature.parameters.len(),
            has_before: captures.iter().any(|capture| capture.before),
            captures,
            transfers: if trace::has_contents() { Transfers::of(signature) } else { None },
        })
    }

    /// Bytes that the record of a call takes at most.
    fn most(&self, call: &CallArguments) -> usize {
        let of = |capture: &Capture| (1 + usize::from(capture.before)) * (size_of::<Value>() + capture.most(call));
        let hashes = self.transfers.as_ref().map_or(0, Transfers::most);
        self.size + self.captures.iter().map(of).sum::<usize>() + hashes * (size_of::<Value>() + 8)
    }

    /// Counts a call of the layer, and says whether something is recorded of it: then [`Traced::begin`] comes next. Most calls of a program
    /// are beyond a limit. What the others need is not in this function.
    #[inline]
    pub(crate) fn admit(&self, thread: &ThreadMemory, layer: usize) -> Option<AdmittedCall> {
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
        let log = unsafe { &mut *thread.log(layer) };
        let has_record = log.admits(thread.number.load(Ordering::Relaxed), file);
        if !has_record && self.transfers.is_none() {
            thread.is_recording.store(0, Ordering::Relaxed);
            return None;
        }
        Some(AdmittedCall { file, sequence, has_record })
    }

    /// Before the call; `site`: where the program called, 0 if a layer did. `None`: nothing is recorded of it.
    #[inline(never)]
    pub(crate) fn begin(&self, call: &CallArguments, admitted: AdmittedCall, site: usize) -> Option<RecordUnderWay> {
        let AdmittedCall { file, sequence, has_record } = admitted;
        // SAFETY: one of the thread's logs, which it alone uses, and not twice at once: `admit` has set `is_recording`.
        let log = unsafe { &mut *call.thread.log(call.layer) };
        let record = if has_record { self.write(call, log, file, sequence, site) } else { None };
        let taken = self.transfers.as_ref().map(|transfers| transfers.take(call, record.is_some()));
        let is_begun = record.is_some() || taken.is_some();
        call.thread.is_recording.store(0, Ordering::Relaxed);
        is_begun.then(|| RecordUnderWay { record, taken: taken.unwrap_or_default() })
    }

    fn write(
        &self,
        call: &CallArguments,
        log: &mut Log,
        file: &CallFile,
        sequence: u64,
        site: usize,
    ) -> Option<CallRecord> {
        let is_plain = self.captures.is_empty() && self.transfers.is_none();
        let head = TracedCall {
            size: if is_plain { self.size } else { self.most(call) } as u32,
            function: call.signature.function.index() as u16,
            arguments: call.words.len() as u8,
            state: BEGUN,
            layer: call.layer as u16,
            caller: call.caller as u16,
            thread: call.thread.number.load(Ordering::Relaxed) as u32,
            sequence,
            start: 0,
            end: 0,
            result: 0,
            site: site as u64,
            used: self.size as u32,
            taken: 0,
        };
        let record = CallRecord::begin(log, file, head, call.words)?;
        if self.has_before {
            self.add_values(&record, BEFORE, call);
        }
        record.publish();
        Some(record)
    }

    /// When it has returned.
    pub(crate) fn end(&self, call: &CallArguments, begun: RecordUnderWay, end: u64, result: u64, is_success: bool) {
        let before = call.thread.is_recording.load(Ordering::Relaxed);
        call.thread.is_recording.store(1, Ordering::Relaxed);
        let record = begun.record.filter(CallRecord::is_there);
        if let Some(record) = record.as_ref().filter(|_| is_success) {
            self.add_values(record, AFTER, call);
        }
        if let Some(transfers) = self.transfers.as_ref().filter(|_| is_success) {
            // It takes its time, which is no layer's.
            let began = ticks();
            transfers.follow(call, begun.taken, record.as_ref());
            call.thread.leave_out(ticks().wrapping_sub(began));
        }
        if let Some(record) = record {
            record.end(end, result);
        }
        call.thread.is_recording.store(before, Ordering::Relaxed);
    }

    /// Adds what arguments point to.
    fn add_values(&self, record: &CallRecord, moment: u8, call: &CallArguments) {
        for capture in &self.captures {
            let is_due = moment == AFTER || capture.before;
            let Some(source) = capture.address(call).filter(|_| is_due) else { continue };
            let source = ptr::with_exposed_provenance::<u8>(source as usize);
            let (element, all) = match capture.width {
                0 => (1, length(source)),
                width => (u16::from(width), capture.count(call) as usize),
            };
            let stored = all.min(capture.most(call) / usize::from(element));
            let head = Value { place: capture.place, moment, element, stored: stored as u32, all: all as u64 };
            record.add(head, |target| {
                let bytes = stored * usize::from(element);
                // SAFETY: the function has read or written as much, and there is room for it.
                unsafe { ptr::copy_nonoverlapping(source, target, bytes) };
                if capture.is_asked_about {
                    // What a function will store there is nothing yet that MPI could be asked about.
                    let known = if moment == AFTER { captures::stored_statuses(stored, call) } else { 0 };
                    note_statuses(source, target, stored, known, call.mpi);
                }
                bytes
            });
        }
    }
}

/// Makes copies of statuses say what MPI says of the first `known` of them.
fn note_statuses(source: *const u8, target: *mut u8, stored: usize, known: usize, mpi: &Mpi) {
    for place in 0..stored {
        // SAFETY: one of so many copies in a record of whole words, which nothing else refers to.
        let copy = unsafe { &mut *target.cast::<AbiStatus>().wrapping_add(place) };
        let original = source.expose_provenance() + place * size_of::<AbiStatus>();
        mpi.note_status((place < known).then_some(original as u64), copy);
    }
}

/// How many characters there are before the zero byte; no more than are recorded are looked at.
fn length(text: *const u8) -> usize {
    // SAFETY: the function has read or written the string, whose end is not before the character.
    let is_end = |place: &usize| unsafe { text.wrapping_add(*place).read() == 0 };
    (0..OF_STRING).find(is_end).unwrap_or(OF_STRING)
}
