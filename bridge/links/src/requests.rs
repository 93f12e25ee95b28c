//! Requests that were started past a layer: such a layer must not see how they are completed, and must see how all others are.
//!
//! What is kept is the exception: requests that some layer has *not* seen started, as it was switched off, with a bit for each such
//! layer. Without a layer that was ever off there is nothing to keep, and functions of the MPI library are jumped to.
//!
//! ```text
//! program -> switch of layer A: off, sets bit A in a word of the thread -> switch of layer B: on, clears bit B -> wrapper of B
//!         -> stub in front of MPI's function: calls it, keeps the handle with the word's bits
//! ```
//!
//! The stub stands below all layers, next to the MPI library, so that the frame that it needs to see the result is in the way of no
//! tool that looks at its caller. A request that is not in the table has been seen by all layers.
//!
//! While a request is being completed it is taken out of the table, and is in a list of the call's own: MPI may give the same handle to
//! another thread before the call returns here. What does not fit into the table is not kept: then layers see the completion of
//! requests that they do not know.
#![expect(unsafe_code, reason = "reads and writes arguments of MPI's functions")]

mod table;

use std::ffi::c_int;
use std::mem::offset_of;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use qmpi_abi::{FnId, Handles};

use crate::arch::{ARGUMENT_REGISTERS, machine_code, thread_pointer};
use crate::blocks::required;
use crate::handles::{Caller, KnownHandles};
use crate::requests::table::{RequestTable, SlotNumber};
use crate::shift::{Arity, arity};
use crate::{thread_offsets, trampoline};

/// Layers that can be switched off, at most: each has a bit.
pub const MAX_SWITCHES: usize = 64;

/// How many requests there are that were started past a layer. Machine code reads it.
pub(crate) static COUNT: AtomicUsize = AtomicUsize::new(0);
/// Not 0 once a layer has been off. Machine code reads it.
static ACTIVE: AtomicPtr<AtomicU32> = AtomicPtr::new(ptr::null_mut());

/// The state of each layer that can be switched, by its bit.
static STATES: [AtomicPtr<AtomicU32>; MAX_SWITCHES] = [const { AtomicPtr::new(ptr::null_mut()) }; MAX_SWITCHES];
static PREPARED: AtomicPtr<Prepared> = AtomicPtr::new(ptr::null_mut());

/// What [`prepare`] has made.
struct Prepared {
    handles: KnownHandles,
    table: RequestTable,
}

/// A function that is watched.
#[repr(C)]
pub struct Watch {
    target: usize,
    /// Words of its arguments on the stack.
    words: usize,
    handles: Handles,
    last: usize,
    /// The layers that have a wrapper of it, and those of them that may not get the call.
    intercepted: AtomicU64,
    switched: AtomicU64,
}

/// A call that is watched.
#[repr(C)]
struct Watched {
    registers: [usize; ARGUMENT_REGISTERS],
    /// The first place of the table that was taken out, plus one.
    taken: usize,
    watch: &'static Watch,
    result: usize,
    unused: usize,
}

machine_code!(["requests"], {
    active = sym ACTIVE,
    count = sym COUNT,
    words = const offset_of!(Watch, words),
    target = const offset_of!(Watch, target),
    size = const size_of::<Watched>(),
    watch = const offset_of!(Watched, watch),
    result = const offset_of!(Watched, result),
    before = sym before_completion,
    after_start = sym after_start,
    after_completion = sym after_completion,
});

unsafe extern "C" {
    // The payload is a `Watch`.
    /// A function that stores a new request: watched from the moment when a layer was off for the first time.
    fn qmpi_watch_start();
    /// A function that completes requests: watched as long as there are some that were started past a layer.
    fn qmpi_watch_completion();
}

/// Prepares for an MPI with such requests. `active` is not 0 once a layer has been off.
pub fn prepare(handles: KnownHandles, active: &'static AtomicU32) {
    let table = required(RequestTable::new(&COUNT));
    ACTIVE.store(ptr::from_ref(active).cast_mut(), Ordering::Relaxed);
    PREPARED.store(Box::into_raw(Box::new(Prepared { handles, table })), Ordering::Release);
}

fn prepared() -> &'static Prepared {
    // SAFETY: stubs that come here are made after [`prepare`], which never frees it.
    unsafe { &*PREPARED.load(Ordering::Acquire) }
}

/// Sets where the state of the layer with this bit is.
pub(crate) fn set_state(bit: usize, state: &'static AtomicU32) {
    STATES[bit].store(ptr::from_ref(state).cast_mut(), Ordering::Release);
}

/// A function of the MPI library, watched if it has to do with requests: its address, and what is to be told of layers.
pub fn watch(id: FnId, target: usize) -> Option<(usize, &'static Watch)> {
    let handles = Handles::of(id);
    let stub = match handles {
        Handles::Starts | Handles::ObjectAndStarts => qmpi_watch_start,
        Handles::Request(_) | Handles::Requests => qmpi_watch_completion,
        Handles::RequestValue(_) | Handles::Object | Handles::Uses => return None,
    };
    let Arity::Fixed(arguments) = arity(id) else { return None };
    let arguments = usize::from(arguments);
    let watch: &'static Watch = Box::leak(Box::new(Watch {
        target,
        words: arguments.saturating_sub(ARGUMENT_REGISTERS),
        handles,
        last: arguments.saturating_sub(1),
        intercepted: AtomicU64::new(0),
        switched: AtomicU64::new(0),
    }));
    Some((trampoline::allocate(stub, watch), watch))
}

impl Watch {
    /// The layer with this bit has a wrapper of the function; `switched`: which may not get the call.
    pub fn intercepted_by(&self, bit: usize, switched: bool) {
        self.intercepted.fetch_or(1 << bit, Ordering::Relaxed);
        self.switched.fetch_or(u64::from(switched) << bit, Ordering::Relaxed);
    }

    /// The layers that a call of it, which is under way in this thread, went past.
    fn past(&self) -> u64 {
        let switched = self.switched.load(Ordering::Relaxed);
        let intercepted = self.intercepted.load(Ordering::Relaxed);
        let mut past = past_in_thread() & switched;
        for (bit, state) in STATES.iter().enumerate().filter(|(bit, _)| intercepted >> bit & 1 == 0) {
            // SAFETY: null, or a word that is never freed.
            match unsafe { state.load(Ordering::Relaxed).as_ref() } {
                Some(state) => past |= u64::from(state.load(Ordering::Relaxed) != 0) << bit,
                None => break,
            }
        }
        past
    }
}

impl Watched {
    fn argument(&self, index: usize) -> usize {
        if let Some(word) = self.registers.get(index) {
            return *word;
        }
        // Behind this record, the saved frame pointer and the return address.
        let words = ptr::from_ref(self).addr() + size_of::<Watched>() + 16;
        // SAFETY: the function has so many arguments, which its caller put there.
        unsafe { ptr::with_exposed_provenance::<usize>(words + 8 * (index - self.registers.len())).read() }
    }

    /// How many requests the function takes, and where they are.
    fn requests(&self) -> (usize, usize) {
        match self.watch.handles {
            Handles::Requests => (count(self.argument(0)), self.argument(1)),
            Handles::Request(place) => (1, self.argument(usize::from(place))),
            _ => (0, 0),
        }
    }
}

/// The layers that the call which starts a request, and is under way in this thread, went past.
fn past_in_thread() -> u64 {
    let offset = thread_offsets::PAST.load(Ordering::Relaxed);
    let word = ptr::with_exposed_provenance::<u64>(thread_pointer().wrapping_add(offset));
    // SAFETY: a word of the thread's own, of the library that is in the process from the start. Stubs write to it.
    unsafe { word.read_volatile() }
}

/// `int count`, as it is in a register: the upper half may be anything.
#[expect(clippy::cast_possible_truncation, reason = "an int in a word")]
fn count(word: usize) -> usize {
    usize::try_from(word as u32 as i32).unwrap_or(0)
}

/// A request was started.
extern "C" fn after_start(call: &Watched) {
    let (variable, handles) = (call.argument(call.watch.last), prepared().handles);
    // An `int`: what is above it in the register is undefined (psABI 3.2.3). MPI_SUCCESS is 0.
    if call.result as u32 == 0 && variable != 0 {
        let handle = handles.read(variable, 0);
        if handle != handles.null {
            prepared().table.keep(handle, call.watch.past());
        }
    }
}

/// Requests are about to be completed: they are taken out of the table.
extern "C" fn before_completion(call: &mut Watched) {
    let (Prepared { handles, table }, (count, array)) = (prepared(), call.requests());
    let mut taken = None;
    for index in 0..count {
        taken = table.take_out(handles.read(array, index), index, taken).or(taken);
    }
    call.taken = SlotNumber::word(taken);
}

/// The call is over: those that are still what they were are put back.
extern "C" fn after_completion(call: &Watched) {
    let (Prepared { handles, table }, (_, array)) = (prepared(), call.requests());
    let mut next = SlotNumber::of_word(call.taken);
    while let Some(place) = next {
        let taken = table.taken(place);
        if handles.read(array, taken.index) == taken.handle {
            table.put_back(place)
        } else {
            table.forget(place)
        }
        next = taken.next;
    }
}

/// What a layer knows of the requests of a call, or of one of them: of several, the last of these counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum KnownRequests {
    /// There are none.
    None,
    /// The layer has seen none of them started.
    NotSeen,
    /// It has seen one of them.
    Seen,
}

/// Where the requests of a call are among its arguments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arguments {
    pub(crate) handles: Handles,
    pub(crate) caller: Caller,
}

impl Arguments {
    /// What the layer with this bit knows.
    pub(crate) fn known(self, bit: usize, arguments: &[usize; ARGUMENT_REGISTERS]) -> KnownRequests {
        let argument = |place: usize| arguments.get(self.caller.word(place)).copied().unwrap_or(0);
        let is_fortran = self.caller == Caller::Fortran;
        let (count, array) = match self.handles {
            Handles::Requests if is_fortran => (fortran_count(argument(0)), argument(1)),
            Handles::Requests => (count(argument(0)), argument(1)),
            Handles::Request(place) => (1, argument(place.into())),
            Handles::RequestValue(place) if is_fortran => (1, argument(place.into())),
            Handles::RequestValue(place) => return knows(bit, prepared().handles.value(argument(place.into()))),
            Handles::Uses | Handles::Object | Handles::Starts | Handles::ObjectAndStarts => (0, 0),
        };
        let handles = prepared().handles;
        let read = if is_fortran { KnownHandles::read_fortran } else { KnownHandles::read };
        (0..count).map(|index| knows(bit, read(handles, array, index))).max().unwrap_or(KnownRequests::None)
    }
}

fn knows(bit: usize, handle: usize) -> KnownRequests {
    let Prepared { handles, table } = prepared();
    if handle == handles.null {
        return KnownRequests::None;
    }
    let past = table.past(handle).unwrap_or(0);
    if past >> bit & 1 == 0 { KnownRequests::Seen } else { KnownRequests::NotSeen }
}

fn fortran_count(address: usize) -> usize {
    // SAFETY: null, or the address of an INTEGER, as Fortran passes it.
    let count = unsafe { ptr::with_exposed_provenance::<c_int>(address).as_ref() };
    count.and_then(|count| usize::try_from(*count).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    static OFF: AtomicU32 = AtomicU32::new(1);
    static WAIT: Arguments = Arguments { handles: Handles::Requests, caller: Caller::C };

    fn prepare_once() {
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(|| prepare(KnownHandles { size: 8, null: 7, from_fortran: 0 }, &OFF));
    }

    fn known(bit: usize, handles: &[usize]) -> KnownRequests {
        let mut arguments = [0; ARGUMENT_REGISTERS];
        arguments[..2].copy_from_slice(&[handles.len(), handles.as_ptr().addr()]);
        WAIT.known(bit, &arguments)
    }

    /// Stands for MPI_Testsome: completes the requests with even handles.
    extern "C" fn complete_even(count: usize, requests: *mut usize) -> i32 {
        // SAFETY: so many.
        for request in unsafe { std::slice::from_raw_parts_mut(requests, count) } {
            if request.is_multiple_of(2) {
                *request = 7;
            }
        }
        0
    }

    /// MPI_Ialltoallw has ten arguments, which no machine has registers for.
    type Start = extern "C" fn(usize, usize, usize, usize, usize, usize, usize, usize, usize, *mut usize) -> i32;

    /// Stands for it: the request is the seventh argument plus the ninth.
    extern "C" fn start(
        a: usize,
        b: usize,
        c: usize,
        d: usize,
        e: usize,
        f: usize,
        seventh: usize,
        eighth: usize,
        ninth: usize,
        request: *mut usize,
    ) -> i32 {
        assert_eq!([a, b, c, d, e, f, eighth], [1, 2, 3, 4, 5, 6, 8]);
        // SAFETY: a variable of the caller.
        unsafe { *request = seventh + ninth };
        0
    }

    #[test]
    fn requests_that_were_started_past_a_layer() {
        prepare_once();
        let id = |name| FnId::by_name(name).unwrap();
        let (address, watched) = watch(id("MPI_Ialltoallw"), start as Start as usize).unwrap();
        // SAFETY: a stub that calls `start`.
        let call = unsafe { std::mem::transmute::<usize, Start>(address) };
        let mut request = 0;
        let mut begin = |handle: usize| {
            assert_eq!(call(1, 2, 3, 4, 5, 6, handle - 1, 8, 1, &raw mut request), 0);
        };
        set_state(0, &OFF);
        begin(100);
        begin(101);
        begin(103);
        assert_eq!((known(0, &[100]), known(1, &[100])), (KnownRequests::NotSeen, KnownRequests::Seen));
        watched.intercepted_by(0, false);
        begin(102);
        begin(103);
        assert_eq!(
            (known(0, &[102]), known(0, &[103])),
            (KnownRequests::Seen, KnownRequests::Seen),
            "and what is old is forgotten"
        );
        assert_eq!((known(0, &[7]), known(0, &[])), (KnownRequests::None, KnownRequests::None));
        assert_eq!((known(0, &[7, 100, 101]), known(0, &[100, 102])), (KnownRequests::NotSeen, KnownRequests::Seen));

        let complete = complete_even as extern "C" fn(usize, *mut usize) -> i32;
        let (address, _) = watch(id("MPI_Testsome"), complete as usize).unwrap();
        // SAFETY: a stub that calls the function above, which takes no more than these.
        let complete = unsafe { std::mem::transmute::<usize, extern "C" fn(usize, *mut usize) -> i32>(address) };
        let mut requests = [100, 7, 101, 102];
        assert_eq!(complete(4, requests.as_mut_ptr()), 0);
        assert_eq!(requests, [7, 7, 101, 7]);
        assert_eq!((known(0, &[100]), known(0, &[101])), (KnownRequests::Seen, KnownRequests::NotSeen));
        prepared().table.keep(101, 0);
        assert_eq!(COUNT.load(Ordering::Relaxed), 0);
    }
}
