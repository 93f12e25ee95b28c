//! What wrappers add to times, measured when the recorder is opened: with a function that does nothing.
#![expect(unsafe_code, reason = "calls a wrapper by its address, and a log of the thread")]

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use qmpi_abi::FnId;
use serde_json::{Value, json};

use crate::instance::RecorderInstance;
use crate::log::Log;
use crate::system::ticks;
use crate::thread::{self, OWN_PLACES, ThreadMemory};
use crate::{call, log, wrappers};

/// An id that no instance has: the runtime's are larger.
const OWN: c_int = 1023;
const CALLS: usize = 1000;
/// The quickest counts, as the others were disturbed.
const ROUNDS: usize = 30;
/// Bytes of the record of a call.
const RECORD: usize = 128;
/// MPI cannot be asked about a datatype yet: this one has a size meanwhile.
const DATATYPE: u64 = 1;

type Six = extern "C" fn(usize, c_int, u64, u64, u64, u64, u64, u64) -> u64;

extern "C" fn nothing(_: usize, _: c_int, _: u64, _: u64, _: u64, _: u64, _: u64, _: u64) -> u64 {
    0
}

/// Measures calls of the program, to which none come, with a few arguments and without bytes, and with as many as many functions have: ticks that wrappers
/// add to the time that they measure, and to their caller's, which are taken off from now on, without and with counting bytes.
pub(crate) fn measure() -> Value {
    let instance = RecorderInstance::new(OWN, 0, String::new());
    let functions = ["MPI_Group_translate_ranks", "MPI_Send"].map(|name| FnId::by_name(name).map_or(0, FnId::index));
    let places = OWN_PLACES.map(thread::offset);
    for (function, place) in functions.into_iter().zip(places) {
        let slot = &instance.slots[function];
        slot.lead_to(nothing as *const () as usize, 0);
        slot.place.store(place, Ordering::Relaxed);
    }
    let costs = thread::this().filter(|_| instance.publish()).map(|thread| {
        thread.sizes.set(DATATYPE, 4);
        let costs = [0, 1].map(|way| quickest(functions[way], places[way], thread));
        thread.sizes.set(DATATYPE, 0);
        thread.inner_time.store(0, Ordering::Relaxed);
        thread.begin();
        costs
    });
    let [(inside, outside), (_, with_bytes)] = costs.unwrap_or_default();
    call::take_off([outside, with_bytes]);
    json!({ "inside": (inside * 10.0).round() / 10.0, "outside": outside, "outside_with_bytes": with_bytes })
}

/// What a wrapper adds inside and outside of the time that it measures.
fn quickest(function: usize, place: usize, thread: &ThreadMemory) -> (f64, u64) {
    let wrapper = wrappers::all().find(|(id, _)| id.index() == function).map(|(_, wrapper)| wrapper);
    let Some(wrapper) = wrapper else { return (0.0, 0) };
    // SAFETY: a wrapper that takes six arguments at most; more than a function takes do no harm.
    let call = unsafe { std::mem::transmute::<*const (), Six>(wrapper) };
    // Where calls are recorded, these are recorded into memory of their own.
    let mut memory = vec![0; if log::file().is_some() { RECORD * (CALLS + 1) } else { 0 }];
    let log = (!memory.is_empty()).then(|| thread.log(0));
    let (mut best, mut best_inside) = (u64::MAX, 0);
    for _ in 0..ROUNDS {
        if let Some(log) = log {
            // SAFETY: the thread's log, which it alone uses.
            unsafe { *log = Log::in_memory(thread.number.load(Ordering::Relaxed), &mut memory) };
        }
        let (inside, began) = (thread.time(place), ticks());
        for _ in 0..CALLS {
            call(0, OWN, 0, 1, DATATYPE, 0, 0, 0);
        }
        let all = ticks().wrapping_sub(began);
        if all < best {
            (best, best_inside) = (all, thread.time(place).wrapping_sub(inside));
        }
    }
    if let Some(log) = log {
        // SAFETY: the thread's log, which it alone uses.
        unsafe { *log = Log::default() };
    }
    (best_inside as f64 / CALLS as f64, best.saturating_sub(best_inside) / CALLS as u64)
}
