//! A call: what is done before it and when it has returned.
//!
//! What a call needs when it has returned is in its wrapper's frame. A call that is left by an exception, `longjmp` or the end of its thread is not
//! counted as done; a call further up that returns sets the thread's words right again.

use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use qmpi_abi::parameters::Kind;
use qmpi_abi::{ABORT, FnId, INITIALIZATION, MpiFamily};

use crate::arguments::{CallArguments, Signature};
use crate::buffers::Buffers;
use crate::instance::{self, RecorderInstance};
use crate::mpi;
use crate::record;
use crate::system::ticks;
use crate::thread::{self, ThreadMemory};
use crate::traced::{RecordUnderWay, Traced};

/// The place of the MPI library among the layers.
const MPI: usize = 1;

/// What is known of a function of MPI.
#[derive(Debug)]
struct KnownFunction {
    signature: Signature,
    /// How its bytes are counted, if its arguments tell.
    buffers: Option<Buffers>,
    /// What is recorded of its calls, if that was asked for.
    traced: Option<Traced>,
    /// Whether it returns an error code.
    has_error_code: bool,
    milestone: Option<Milestone>,
}

/// What a function means for the process.
#[derive(Debug, Clone, Copy)]
enum Milestone {
    /// It begins MPI: all layers are there.
    Begin,
    /// It ends MPI: what the record calls it.
    End(&'static str),
}

static FUNCTIONS: OnceLock<Box<[KnownFunction]>> = OnceLock::new();

/// Ticks of a wrapper that its caller would have: without and with counting bytes.
static OUTSIDE: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// A call that is under way.
#[derive(Debug)]
pub(crate) struct CallUnderWay {
    /// What to call, and the id to pass.
    pub(crate) next: usize,
    pub(crate) next_tool: c_int,
    /// `None`: it is not measured.
    measured: Option<(&'static ThreadMemory, &'static KnownFunction)>,
    layer: usize,
    caller: usize,
    place: usize,
    inner_time: u64,
    start: u64,
    recorded: Option<RecordUnderWay>,
}

/// Works out what there is to know of each function; what MPI answers and what was asked for has to be known.
pub(crate) fn prepare() {
    let abi = mpi::get().map_or(MpiFamily::Mpich, |mpi| mpi.abi);
    let function = |id: FnId| {
        let signature = Signature::of(id, abi);
        KnownFunction {
            buffers: Buffers::of(&signature),
            traced: Traced::of(&signature),
            signature,
            has_error_code: id.result().is_some_and(|result| result.kind == Kind::ErrorCode),
            milestone: match id {
                ABORT => Some(Milestone::End("abort")),
                _ if id.name() == "MPI_Finalize" => Some(Milestone::End("finalize")),
                _ => INITIALIZATION.contains(&id).then_some(Milestone::Begin),
            },
        }
    };
    FUNCTIONS.get_or_init(|| FnId::all().map(function).collect());
}

/// Takes so many ticks off the time of callers, from now on.
pub(crate) fn take_off(outside: [u64; 2]) {
    OUTSIDE.iter().zip(outside).for_each(|(word, ticks)| word.store(ticks, Ordering::Relaxed));
}

/// Before a call. `context` is where the application called, if nothing else is known.
#[inline(never)]
pub(crate) fn begin(context: usize, tool: c_int, function: usize, words: &[u64]) -> CallUnderWay {
    let instance = instance::of(tool);
    let slot = &instance.slots[function];
    let mut thread = thread::known();
    if !slot.is_known() || thread.is_none() {
        thread = first_call(instance, function);
    }
    let (next, next_tool) = slot.next();
    let (layer, place) = (instance.layer, slot.place.load(Ordering::Acquire));
    let known = FUNCTIONS.get().and_then(|functions| functions.get(function));
    let measured = thread.filter(|_| place != 0).zip(known);
    let (caller, inner_time, start, recorded) = (0, 0, 0, None);
    let mut call = CallUnderWay { next, next_tool, measured, layer, caller, place, inner_time, start, recorded };
    let Some((thread, known)) = measured else { return call };
    if let Some(milestone) = known.milestone {
        let began = ticks();
        milestone.comes_to(layer);
        // The time for it is no layer's.
        thread.leave_out(ticks().wrapping_sub(began));
    }
    call.caller = thread.layer.load(Ordering::Relaxed);
    thread.count_call(place, call.caller);
    call.inner_time = thread.inner_time.load(Ordering::Relaxed);
    thread.inner_time.store(0, Ordering::Relaxed);
    thread.layer.store(layer, Ordering::Relaxed);
    if let Some(traced) = &known.traced
        && let Some(mpi) = mpi::get()
        && let Some(admitted) = traced.admit(thread, layer)
    {
        let caller = call.caller;
        let arguments = CallArguments { signature: &known.signature, words, mpi, thread, layer, caller };
        call.recorded = traced.begin(&arguments, admitted, if caller == 0 { context } else { 0 });
        call.start = ticks();
        if let Some(record) = call.recorded.as_ref().and_then(|recorded| recorded.record.as_ref()) {
            record.set_start(call.start);
        }
        return call;
    }
    call.start = ticks();
    call
}

/// The first call of a function at a layer, or of a thread: what comes next is asked for, and places are taken. The time for it is no layer's.
#[cold]
fn first_call(instance: &RecorderInstance, function: usize) -> Option<&'static ThreadMemory> {
    let began = ticks();
    instance.prepare(function);
    let thread = thread::this()?;
    thread.leave_out(ticks().wrapping_sub(began));
    Some(thread)
}

impl CallUnderWay {
    /// When it has returned. `result` is the word that it returned.
    #[inline(never)]
    pub(crate) fn end(self, words: &[u64], result: u64) {
        let now = ticks();
        let Self { measured, layer, caller, place, inner_time, start, recorded, .. } = self;
        let Some((thread, known)) = measured else { return };
        let time = now.wrapping_sub(start);
        let below = thread.inner_time.load(Ordering::Relaxed);
        let outside = OUTSIDE[usize::from(known.buffers.is_some())].load(Ordering::Relaxed);
        thread.inner_time.store(inner_time.wrapping_add(time).wrapping_add(outside), Ordering::Relaxed);
        thread.layer.store(caller, Ordering::Relaxed);
        thread.count_time(place, time, below);
        thread.set_last(now);
        let arguments =
            || Some(CallArguments { signature: &known.signature, words, mpi: mpi::get()?, thread, layer, caller });
        if let Some(buffers) = known.buffers.as_ref().filter(|_| result as u32 == 0) {
            let count = || arguments().map(|arguments| buffers.count(&arguments));
            let bytes = buffers.quick_count(words, thread).or_else(count).unwrap_or_default();
            thread.count_bytes(place, caller, bytes);
        }
        if let (Some(recorded), Some(traced)) = (recorded, &known.traced)
            && let Some(arguments) = arguments()
        {
            traced.end(&arguments, recorded, now, result, !known.has_error_code || result as u32 == 0);
        }
    }
}

impl Milestone {
    #[cold]
    fn comes_to(self, layer: usize) {
        match self {
            Milestone::Begin => record::describe(),
            Milestone::End(ending) if layer == MPI => record::save(ending),
            Milestone::End(_) => {}
        }
    }
}
