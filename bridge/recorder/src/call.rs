//! A call: what is done before it and when it has returned.
//!
//! What a call needs when it has returned is in its wrapper's frame. A call that is left by an exception, `longjmp` or the end of its thread is not
//! counted as done; a call further up that returns sets the thread's words right again.

use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use qmpi_abi::parameters::Kind;
use qmpi_abi::{FnId, INITIALIZATION};

use crate::bytes::Bytes;
use crate::edge::{self, Edge, Slot};
use crate::record::{self, End};
use crate::system::ticks;
use crate::thread::{self, Measured, Thread};
use crate::trace::{self, Traced};

/// The place of the MPI library among the layers.
const MPI: usize = 1;

/// What is known of a function of MPI.
#[derive(Debug)]
pub(crate) struct Function {
    /// How its bytes are counted, if its arguments tell.
    pub(crate) bytes: Option<Bytes>,
    /// What is recorded of its calls, if that was asked for.
    pub(crate) traced: Option<Traced>,
    /// Whether it returns an error code.
    pub(crate) has_error_code: bool,
    /// Whether it begins MPI, or what it ends.
    moment: Option<Moment>,
}

#[derive(Debug, Clone, Copy)]
enum Moment {
    Begin,
    End(End),
}

static FUNCTIONS: OnceLock<Box<[Function]>> = OnceLock::new();

/// Ticks of a wrapper that its caller would have: without and with counting bytes.
static OUTSIDE: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// What wrappers add to times, in ticks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cost {
    /// To the time that they measure.
    pub(crate) inside: f64,
    /// To their caller's, which is taken off from now on: without and with counting bytes.
    pub(crate) outside: [u64; 2],
}

/// A call that is under way.
#[derive(Debug)]
pub(crate) struct Open {
    /// What to call, and the id to pass.
    pub(crate) next: usize,
    pub(crate) next_tool: c_int,
    function: usize,
    layer: usize,
    caller: usize,
    /// `None`: it is not measured.
    thread: Option<&'static Thread>,
    place: usize,
    inner_time: u64,
    start: u64,
    recorded: Option<trace::Open>,
}

/// Works out what there is to know of each function; what MPI answers and what was asked for has to be known.
pub(crate) fn prepare() {
    let function = |id: FnId| Function {
        bytes: Bytes::of(id),
        traced: Traced::of(id),
        has_error_code: id.result().is_some_and(|result| result.kind == Kind::ErrorCode),
        moment: match id.name() {
            "MPI_Finalize" => Some(Moment::End(End::Finalize)),
            "MPI_Abort" => Some(Moment::End(End::Abort)),
            _ => INITIALIZATION.contains(&id).then_some(Moment::Begin),
        },
    };
    FUNCTIONS.get_or_init(|| FnId::all().map(function).collect());
}

#[inline]
fn functions() -> &'static [Function] {
    FUNCTIONS.get().map(|functions| &**functions).unwrap_or_default()
}

/// Before a call. `context` is where the application called, if nothing else is known.
#[inline(never)]
pub(crate) fn begin(context: usize, tool: c_int, function: usize, arguments: &[u64]) -> Open {
    let edge = edge::of(tool);
    let slot = edge.slot(function);
    let layer = edge.layer;
    let mut thread = thread::known();
    if !slot.is_known() || thread.is_none() {
        thread = first_call(edge, slot, function);
    }
    let (next, next_tool) = slot.next();
    let place = slot.place.load(Ordering::Acquire);
    let (thread, caller, inner_time, start, recorded) = (thread.filter(|_| place != 0), 0, 0, 0, None);
    let mut open = Open { next, next_tool, function, layer, caller, thread, place, inner_time, start, recorded };
    let (Some(thread), Some(known)) = (thread, functions().get(function)) else { return open };
    if let Some(moment) = known.moment {
        let began = ticks();
        moment.comes_to(layer);
        // The time for it is no layer's.
        thread.leave_out(ticks().wrapping_sub(began));
    }
    open.caller = thread.layer.load(Ordering::Relaxed);
    thread.count_call(place, open.caller);
    open.inner_time = thread.inner_time.load(Ordering::Relaxed);
    thread.inner_time.store(0, Ordering::Relaxed);
    thread.layer.store(layer, Ordering::Relaxed);
    if let Some(traced) = &known.traced {
        let site = if open.caller == 0 { context } else { 0 };
        let call = trace::Call { thread, traced, function, layer, caller: open.caller, arguments };
        open.recorded = call.begin(site);
        open.start = ticks();
        if let Some(recorded) = &open.recorded {
            recorded.set_start(open.start);
        }
        return open;
    }
    open.start = ticks();
    open
}

/// The first call of a function at a layer, or of a thread: what comes next is asked for, and places are taken. The time for it is no layer's.
#[cold]
fn first_call(edge: &Edge, slot: &Slot, function: usize) -> Option<&'static Thread> {
    let began = ticks();
    slot.find_next(edge, function);
    thread::take_place(slot, edge.layer, function);
    let thread = thread::this();
    if let Some(thread) = thread {
        thread.leave_out(ticks().wrapping_sub(began));
    }
    thread
}

impl Open {
    /// When it has returned. `result` is the word that it returned.
    #[inline(never)]
    pub(crate) fn end(self, arguments: &[u64], result: u64) {
        let now = ticks();
        let (Some(thread), Some(known)) = (self.thread, functions().get(self.function)) else { return };
        let time = now.wrapping_sub(self.start);
        let below = thread.inner_time.load(Ordering::Relaxed);
        let outside = OUTSIDE[usize::from(known.bytes.is_some())].load(Ordering::Relaxed);
        thread.inner_time.store(self.inner_time.wrapping_add(time).wrapping_add(outside), Ordering::Relaxed);
        thread.layer.store(self.caller, Ordering::Relaxed);
        thread.count_time(self.place, time, below);
        thread.set_last(now);
        if let Some(bytes) = known.bytes.as_ref().filter(|_| result as u32 == 0) {
            thread.count_bytes(self.place, self.caller, bytes.count(arguments, thread));
        }
        if let Some((recorded, traced)) = self.recorded.zip(known.traced.as_ref()) {
            let (function, layer, caller) = (self.function, self.layer, self.caller);
            let call = trace::Call { thread, traced, function, layer, caller, arguments };
            call.end(recorded, now, result, !known.has_error_code || result as u32 == 0);
        }
    }
}

impl Moment {
    #[cold]
    fn comes_to(self, layer: usize) {
        match self {
            // All layers are there.
            Moment::Begin => record::describe(),
            Moment::End(end) if layer == MPI => record::save(end),
            Moment::End(_) => {}
        }
    }
}

/// Measures what wrappers add to times, with a function that does nothing; the quickest of some rounds counts, as the others were disturbed.
pub(crate) fn measure_own_cost() -> Cost {
    /// An id that no instance has: the runtime's are larger.
    const OWN: c_int = 1023;
    // Calls of the program, to which none come, with a few arguments and without bytes, and with as many as many functions have.
    let edge = Edge::new(OWN, 0, String::new());
    let functions = ["MPI_Group_translate_ranks", "MPI_Send"].map(FnId::by_name);
    let mut costs = [(0.0, 0); 2];
    for (function, place) in functions.into_iter().flatten().zip(thread::OWN_PLACES) {
        let slot = edge.slot(function.index());
        slot.lead_to(nothing as *const () as usize, 0);
        slot.place.store(thread::offset(place), Ordering::Relaxed);
    }
    if !edge.publish() {
        return Cost::default();
    }
    for (cost, (function, place)) in costs.iter_mut().zip(functions.into_iter().flatten().zip(thread::OWN_PLACES)) {
        *cost = measure(OWN, function, thread::offset(place));
    }
    let [(inside, outside), (_, with_bytes)] = costs;
    OUTSIDE[0].store(outside, Ordering::Relaxed);
    OUTSIDE[1].store(with_bytes, Ordering::Relaxed);
    Cost { inside, outside: [outside, with_bytes] }
}

type Six = extern "C" fn(usize, c_int, u64, u64, u64, u64, u64, u64) -> u64;

extern "C" fn nothing(_: usize, _: c_int, _: u64, _: u64, _: u64, _: u64, _: u64, _: u64) -> u64 {
    0
}

/// What a wrapper adds inside and outside of the time that it measures.
fn measure(tool: c_int, function: FnId, place: usize) -> (f64, u64) {
    #![expect(unsafe_code, reason = "calls a wrapper by its address")]
    const CALLS: u32 = 1000;
    const ROUNDS: u32 = 30;
    let wrapper = crate::wrappers::all().find(|(id, _)| *id == function).map(|(_, wrapper)| wrapper);
    let (Some(wrapper), Some(thread)) = (wrapper, thread::this()) else { return (0.0, 0) };
    // SAFETY: a wrapper that takes six arguments at most; more than a function takes do no harm.
    let call = unsafe { std::mem::transmute::<*const (), Six>(wrapper) };
    // MPI cannot be asked about it yet.
    let datatype = 1;
    thread.sizes.set(datatype, 4);
    let mut memory = trace::Scratch::for_calls(CALLS as usize);
    let (mut best, mut best_inside) = (u64::MAX, 0);
    for _ in 0..ROUNDS {
        memory.begin(thread);
        let (inside, began) = (Measured::of(place).inclusive, ticks());
        for _ in 0..CALLS {
            call(0, tool, 0, 1, datatype, 0, 0, 0);
        }
        let all = ticks().wrapping_sub(began);
        if all < best {
            (best, best_inside) = (all, Measured::of(place).inclusive.wrapping_sub(inside));
        }
    }
    memory.end(thread);
    thread.sizes.set(datatype, 0);
    thread.inner_time.store(0, Ordering::Relaxed);
    (best_inside as f64 / f64::from(CALLS), best.saturating_sub(best_inside) / u64::from(CALLS))
}
