//! A layer that sees some of the calls that it intercepts: on some communicators, for a time, one in so many.
//!
//! The stub of a layer that can be switched ([`crate::switch`]) leads here where it would lead into the layer, and from here a call goes
//! into it or past it. So a filter leaves alone what a switch leaves alone: a layer sees how the requests are completed whose start it
//! has seen, and all that makes and ends objects.
//!
//! A call is asked three questions, in this order: is it on one of the communicators, is it the time, is it one in so many of those that are left.
#![expect(unsafe_code, reason = "reads arguments of MPI's functions, asks MPI")]

use std::ffi::{CStr, CString, c_char, c_int};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use qmpi_abi::FnId;
use qmpi_abi::parameters::{Direction, Kind};
use qmpi_system::clock;

use crate::arch::{ARGUMENT_REGISTERS, machine_code};
use crate::handles::{Caller, KnownHandles};
use crate::trampoline;

/// Which calls a layer sees.
#[derive(Debug)]
pub struct CallFilter {
    every: u64,
    /// The calls of each function so far.
    counts: Box<[AtomicU64]>,
    /// When the layer sees calls, by the clock of [`now`].
    from: u64,
    to: u64,
    /// That this time has passed: the clock need not be asked any more.
    is_over: AtomicBool,
    communicators: Option<Communicators>,
}

/// What a filter asks.
#[derive(Debug)]
pub struct Conditions {
    /// One in so many calls of a function, the first among them; at least 1.
    pub every: u32,
    /// From so long after the filter is made.
    pub from: Option<Duration>,
    /// Until so long after.
    pub to: Option<Duration>,
    /// On these communicators.
    pub communicators: Option<Communicators>,
}

/// Communicators by their names, and how the MPI library tells a name.
#[derive(Debug)]
pub struct Communicators {
    /// As `MPI_Comm_get_name` returns them.
    pub names: Vec<CString>,
    /// The MPI library's `MPI_Comm_get_name`.
    pub get_name: usize,
    /// Its handles of communicators.
    pub handles: KnownHandles,
}

/// Larger than `MPI_MAX_OBJECT_NAME` of any MPI.
const LONGEST_NAME: usize = 256;

/// A link that can be led past a layer.
#[derive(Debug, Clone, Copy)]
pub struct Switched {
    /// The link.
    pub address: usize,
    /// Where it leads while the layer is to see calls: the layer's function, which can be exchanged.
    pub function: &'static AtomicUsize,
}

/// A link to a function of a layer with a filter.
#[repr(C)]
struct Filtered {
    filter: &'static CallFilter,
    on: AtomicUsize,
    off: usize,
    id: FnId,
    /// The word that the communicator is in; `None`: there is none.
    communicator: Option<usize>,
    is_fortran: bool,
}

machine_code!(["filter"], { decide = sym decide });

unsafe extern "C" {
    /// The payload is a [`Filtered`].
    fn qmpi_switch_filtered();
}

impl CallFilter {
    /// A filter that begins now.
    pub fn new(conditions: Conditions) -> CallFilter {
        let after = |time: Duration| now().saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        CallFilter {
            every: u64::from(conditions.every.max(1)),
            counts: FnId::all().map(|_| AtomicU64::new(0)).collect(),
            from: conditions.from.map_or(0, after),
            to: conditions.to.map_or(u64::MAX, after),
            is_over: AtomicBool::new(false),
            communicators: conditions.communicators,
        }
    }

    /// A link that leads to `on` for calls that the layer is to see, and to `off` for others.
    pub(crate) fn before(&'static self, id: FnId, on: usize, off: usize, caller: Caller) -> Switched {
        let place = id
            .parameters()
            .iter()
            .position(|parameter| parameter.kind == Kind::Communicator && parameter.direction != Direction::Out);
        let filtered: &'static Filtered = Box::leak(Box::new(Filtered {
            filter: self,
            on: AtomicUsize::new(on),
            off,
            id,
            communicator: place.map(|place| caller.word(place)),
            is_fortran: caller == Caller::Fortran,
        }));
        Switched { address: trampoline::allocate(qmpi_switch_filtered, filtered), function: &filtered.on }
    }

    fn is_time(&self) -> bool {
        if self.from == 0 && self.to == u64::MAX {
            return true;
        }
        if self.is_over.load(Ordering::Relaxed) {
            return false;
        }
        let now = now();
        if now >= self.to {
            self.is_over.store(true, Ordering::Relaxed);
        }
        (self.from..self.to).contains(&now)
    }

    fn is_one_of(&self, id: FnId) -> bool {
        self.every == 1 || self.counts[id.index()].fetch_add(1, Ordering::Relaxed).is_multiple_of(self.every)
    }
}

impl Communicators {
    /// Whether the argument of a call is one of them.
    fn contain(&self, argument: usize, is_fortran: bool) -> bool {
        let handle = if is_fortran { self.handles.read_fortran(argument, 0) } else { self.handles.value(argument) };
        // Whether a call may have it is for MPI to say.
        handle == self.handles.null || self.get_name == 0 || self.named(handle)
    }

    fn named(&self, handle: usize) -> bool {
        type GetName = extern "C" fn(usize, *mut c_char, *mut c_int) -> c_int;
        let (mut name, mut len) = ([0; LONGEST_NAME], 0);
        // SAFETY: `MPI_Comm_get_name`: a handle is a word, whatever its size.
        let get_name = unsafe { std::mem::transmute::<usize, GetName>(self.get_name) };
        if get_name(handle, name.as_mut_ptr(), &raw mut len) != 0 {
            return true;
        }
        *name.last_mut().unwrap_or(&mut 0) = 0;
        // SAFETY: it ends with a zero byte, at the latest with the last one.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) };
        self.names.iter().any(|known| known.as_c_str() == name)
    }
}

/// Nanoseconds of a clock that is read without a system call, and goes on every few milliseconds.
fn now() -> u64 {
    clock::nanoseconds(libc::CLOCK_MONOTONIC_COARSE)
}

/// Where a call goes. `arguments` are the six registers that arguments come in, `stack` the words that the caller put on the stack.
extern "C" fn decide(link: &Filtered, arguments: &[usize; ARGUMENT_REGISTERS], stack: *const usize) -> usize {
    let filter = link.filter;
    let is_on_one = |communicators: &Communicators| {
        link.communicator.is_none_or(|place| {
            let word = arguments.get(place).copied().unwrap_or_else(|| {
                // SAFETY: the function has so many arguments, which its caller put there.
                unsafe { stack.wrapping_add(place - arguments.len()).read() }
            });
            communicators.contain(word, link.is_fortran)
        })
    };
    let goes_in = filter.communicators.as_ref().is_none_or(is_on_one) && filter.is_time() && filter.is_one_of(link.id);
    if goes_in { link.on.load(Ordering::Relaxed) } else { link.off }
}
