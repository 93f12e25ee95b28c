//! A call, as it is recorded: when it begins, and when it has returned.
//!
//! Called by `arch::traced_probe` on each call. No heap, no lock, no `std` that may panic.

use std::ptr;

use qmpi_abi::trace::{AFTER, AbiStatus, BEFORE, BEGUN, RETURNED, Record, Value};

use crate::arch::{self, ARGUMENT_REGISTERS};
use crate::bytes::{self, Arguments};
use crate::probe::{Probe, Recorder};
use crate::trace::captures::{Capture, OF_STRING};
use crate::trace::completion::Role;
use crate::trace::contents::Contents;
use crate::trace::follow::{Followed, Made};
use crate::trace::log::{self, Log};
use crate::trace::{Settings, Traced, settings};

/// The frame of the probe, from its lowest word on.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Frame {
    /// Those that arguments come in, in their order.
    pub(crate) registers: [u64; ARGUMENT_REGISTERS],
    /// The result in the first vector register.
    pub(crate) float: u64,
    pub(crate) end: u64,
    pub(crate) generation: u64,
    /// The call's record; null if it has none.
    pub(crate) record: *mut Record,
    pub(crate) recorder: *mut Recorder,
    /// The result in a register.
    pub(crate) result: u64,
    pub(crate) caller: u64,
    pub(crate) inner_time: u64,
    pub(crate) start: u64,
    pub(crate) probe: *const Probe,
    pub(crate) saved: u64,
    pub(crate) return_address: u64,
}

impl Frame {
    /// An argument's word.
    #[inline]
    pub(crate) fn argument(&self, traced: &Traced, place: u8) -> u64 {
        let word = usize::from(traced.call.leading) + usize::from(place);
        if let Some(register) = self.registers.get(word) {
            return *register;
        }
        let stack = ptr::from_ref(self).expose_provenance() + size_of::<Frame>();
        let address = stack + 8 * (word - self.registers.len());
        // SAFETY: the caller has put so many words there.
        unsafe { ptr::with_exposed_provenance::<u64>(address).read() }
    }

    /// All of them.
    pub(crate) fn arguments(&self, traced: &Traced) -> Arguments<'_> {
        let stack = ptr::with_exposed_provenance(ptr::from_ref(self).expose_provenance() + size_of::<Frame>());
        Arguments { leading: traced.call.leading, registers: &self.registers, stack }
    }
}

/// Before the call.
pub(crate) extern "C" fn begin(frame: &mut Frame) {
    frame.record = ptr::null_mut();
    // SAFETY: the thread's own, never freed.
    let recorder = unsafe { &mut *frame.recorder };
    let sequence = recorder.sequence;
    recorder.sequence += 1;
    // SAFETY: links are never freed.
    let probe = unsafe { &*frame.probe };
    let (Some(traced), Some(settings)) = (probe.traced, settings()) else { return };
    if log::is_child() {
        return;
    }
    // The handler of a signal that came in here.
    if recorder.is_recording != 0 {
        return log::lose();
    }
    set_recording(recorder, 1);
    let logs = ptr::with_exposed_provenance_mut::<Log>(recorder.logs);
    // SAFETY: there is one for each layer.
    let log = unsafe { logs.add(probe.layer) };
    // SAFETY: as above; it is the thread's own.
    let log = unsafe { &mut *log };
    let is_plain = traced.captures.is_empty() && traced.contents.is_none() && traced.role.is_none();
    let size = if is_plain { traced.size } else { most(frame, traced) };
    if let Some(record) = log.reserve(recorder.number, probe.layer as u64, size, settings) {
        let head = Record {
            size: size as u32,
            function: traced.call.function.index() as u16,
            arguments: traced.arguments as u8,
            state: BEGUN,
            layer: probe.layer as u16,
            caller: frame.caller as u16,
            thread: recorder.number as u32,
            sequence,
            start: 0,
            end: 0,
            result: 0,
            site: if frame.caller == 0 { frame.return_address } else { 0 },
            used: traced.size as u32,
            taken: 0,
        };
        // SAFETY: room for it was reserved.
        unsafe { record.write(head) };
        let words = record.expose_provenance() + size_of::<Record>();
        // All registers, whether they have arguments or not: there is room behind the last record of a chunk (`log::SLACK`).
        let leading = usize::from(traced.call.leading).min(frame.registers.len());
        let in_registers = &frame.registers[leading..];
        let target = ptr::with_exposed_provenance_mut::<u64>(words);
        // SAFETY: as above.
        unsafe { ptr::copy_nonoverlapping(in_registers.as_ptr(), target, in_registers.len()) };
        for place in in_registers.len()..traced.arguments {
            let word = ptr::with_exposed_provenance_mut::<u64>(words + 8 * place);
            // SAFETY: as above.
            unsafe { word.write(frame.argument(traced, place as u8)) };
        }
        frame.record = record;
        frame.generation = log.generation();
        if traced.has_before {
            values(frame, traced, settings, BEFORE);
        }
        log.publish();
    }
    if let Some((role, datatypes)) = traced.role.zip(settings.datatypes.as_ref()) {
        let followed = Followed { frame, traced, layer: probe.layer, settings, datatypes };
        let taken = followed.before(role);
        if let Some(record) = ptr::NonNull::new(frame.record) {
            // SAFETY: made above.
            unsafe { (*record.as_ptr()).taken = taken };
        }
    }
    set_recording(recorder, 0);
}

/// When the call has returned, and has a record.
pub(crate) extern "C" fn end(frame: &mut Frame) {
    // SAFETY: links are never freed.
    let probe = unsafe { &*frame.probe };
    let (Some(traced), Some(settings)) = (probe.traced, settings()) else { return };
    // SAFETY: the thread's own, never freed.
    let recorder = unsafe { &mut *frame.recorder };
    let logs = ptr::with_exposed_provenance_mut::<Log>(recorder.logs);
    // SAFETY: there is one for each layer.
    let log = unsafe { logs.add(probe.layer) };
    // SAFETY: as above; it is the thread's own.
    let log = unsafe { &mut *log };
    // Calls that came in between may have taken its place, where only the last ones are kept.
    if settings.keeps_last() && log.generation() - frame.generation > 1 {
        return;
    }
    let is_nested = recorder.is_recording != 0;
    set_recording(recorder, 1);
    let result = if traced.is_float { frame.float } else { frame.result };
    let is_success = !traced.is_error_code || result as u32 == 0;
    if is_success && !traced.captures.is_empty() {
        values(frame, traced, settings, AFTER);
    }
    if let Some(datatypes) = settings.datatypes.as_ref().filter(|_| traced.contents.is_some() || traced.role.is_some())
    {
        // It takes its time, which is no layer's.
        let began = arch::ticks();
        let followed = Followed { frame, traced, layer: probe.layer, settings, datatypes };
        follow(&followed, is_success, recorder, log);
        recorder.leave_out(arch::ticks().wrapping_sub(began));
    }
    // SAFETY: `begin` has made it, and its chunk is never unmapped.
    let record = unsafe { &mut *frame.record };
    record.end = frame.end;
    record.result = result;
    record.state = RETURNED;
    log.keep(record, record.used as usize);
    set_recording(recorder, u64::from(is_nested));
}

/// Seen by the handler of a signal in this thread.
fn set_recording(recorder: &mut Recorder, value: u64) {
    // SAFETY: a word of the thread's own.
    unsafe { (&raw mut recorder.is_recording).write_volatile(value) };
}

/// Bytes that the record takes at most.
fn most(frame: &Frame, traced: &Traced) -> usize {
    let of = |capture: &Capture| {
        let moments = usize::from(capture.before) + usize::from(capture.after);
        moments * (size_of::<Value>() + capture.most(frame, traced))
    };
    let contents = traced.contents.as_ref().map_or(0, Contents::most)
        + traced.role.map_or(0, |role| role.most(&frame.arguments(traced)));
    traced.size + traced.captures.iter().map(of).sum::<usize>() + contents * (size_of::<Value>() + 8)
}

/// Adds hashes of what is in buffers, to this record and those of calls that this one has completed.
fn follow(followed: &Followed<'_>, is_success: bool, recorder: &Recorder, log: &Log) {
    let (frame, traced) = (followed.frame, followed.traced);
    let mut made = Made::Unknown;
    if let Some(role) = traced.role {
        // SAFETY: `begin` has made it.
        let taken = unsafe { &raw mut (*frame.record).taken };
        // SAFETY: as above.
        let first = unsafe { taken.read() };
        // SAFETY: as above.
        unsafe { taken.write(0) };
        followed.after(role, first, is_success, recorder, log);
        if let Role::Makes { request } = role
            && is_success
        {
            made = followed.made(frame.argument(traced, request));
        }
    }
    if let Some(contents) = traced.contents.as_ref().filter(|_| is_success) {
        followed.add_contents(contents, made, recorder, log);
    }
}

/// Adds what arguments point to.
fn values(frame: &mut Frame, traced: &Traced, settings: &Settings, moment: u8) {
    // SAFETY: `begin` has made it.
    let record = unsafe { &mut *frame.record };
    let base = frame.record.expose_provenance();
    for capture in traced.captures {
        let word = frame.argument(traced, capture.place);
        let is_due = if moment == BEFORE { capture.before } else { capture.after };
        if !is_due || !capture.is_address(word, frame, traced) {
            continue;
        }
        let source = ptr::with_exposed_provenance::<u8>(word as usize);
        let place = record.used as usize;
        let target = ptr::with_exposed_provenance_mut::<u8>(base + place + size_of::<Value>());
        let (element, stored, all) = if capture.element == 0 {
            let characters = text(source, target);
            (1, characters, characters)
        } else {
            let all = capture.count(frame, traced, settings) as usize;
            let room = capture.most(frame, traced) / usize::from(capture.element);
            let stored = all.min(room);
            // SAFETY: the function has read or written as much, and there is room for it.
            unsafe { ptr::copy_nonoverlapping(source, target, stored * usize::from(capture.element)) };
            if let Some(room) = capture.statuses {
                // What a function will store there is nothing yet that MPI could be asked about.
                let known = if moment == AFTER { room.count(stored, frame, traced) } else { 0 };
                note_statuses(source, target, stored, known);
            }
            (capture.element, stored, all)
        };
        let head = Value { place: capture.place, moment, element, stored: stored as u32, all: all as u64 };
        let value = ptr::with_exposed_provenance_mut::<Value>(base + place);
        // SAFETY: as above.
        unsafe { value.write(head) };
        let bytes = (stored * usize::from(element)).next_multiple_of(8);
        record.used += (size_of::<Value>() + bytes) as u32;
    }
}

/// Makes copies of statuses say what MPI says of the first `known` of them.
fn note_statuses(source: *const u8, target: *mut u8, stored: usize, known: usize) {
    let Some(settings) = bytes::settings() else { return };
    for place in 0..stored {
        // SAFETY: one of as many copies.
        let copy = unsafe { target.cast::<AbiStatus>().add(place) };
        // SAFETY: as above; records are of whole words.
        let copy = unsafe { &mut *copy };
        let original = source.expose_provenance() + place * size_of::<AbiStatus>();
        settings.statuses.note((place < known).then_some(original as u64), copy);
    }
}

/// Copies characters up to the zero byte, and tells how many.
fn text(source: *const u8, target: *mut u8) -> usize {
    for place in 0..OF_STRING {
        // SAFETY: the function has read or written the string, whose end is not before here.
        let character = unsafe { source.add(place) };
        // SAFETY: as above.
        let character = unsafe { character.read() };
        if character == 0 {
            return place;
        }
        // SAFETY: there is room for so many.
        let copy = unsafe { target.add(place) };
        // SAFETY: as above.
        unsafe { copy.write(character) };
    }
    OF_STRING
}
