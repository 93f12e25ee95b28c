//! Start-up: when it happens. What happens is the core's business.
//!
//! With an MPI library in the process it happens as this library's constructor runs: then constructors of tools run before
//! `main`, as under `LD_PRELOAD`. Tools that wrap functions which constructors of other libraries may call are loaded before these, and
//! initialized at the same moment as others. Where MPI is opened later (Python) it happens at the first call of an MPI function, or when the
//! process looks something up in what it has opened, whichever is first. A process without MPI (a shell, a launcher) never gets
//! further than the look for it, unless the environment says that the stack is for all processes: then the core opens the MPI library
//! that the tools are linked with, as `ld.so` does for preloaded ones.
#![expect(unsafe_code, reason = "an init_array entry")]

use core::ffi::{c_char, c_int};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use qmpi_abi::{FnId, INITIALIZATION};
use qmpi_ring::Moment;

use crate::arch::LAZY_SIZE;
use crate::process::{environment, mpi_with_qmpi, objects, opened, weak};
use crate::ring::RING;
use crate::{core_library, message, mpir, pass_through};

// Miri runs constructors as well, and has no dynamic linker to look at.
#[cfg_attr(not(miri), used, unsafe(link_section = ".init_array"))]
static ON_LOAD: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = on_load;

/// Whether this library's constructor has run, or the stack is there already. Before, the process is not looked at.
static LOADED: AtomicBool = AtomicBool::new(false);

/// Whether the process has an MPI library because the stack is for all processes.
static BROUGHT_MPI: AtomicBool = AtomicBool::new(false);

/// How many objects had been opened when none of them was an MPI library. A look at all takes microseconds, in each process.
static WITHOUT_MPI: AtomicU64 = AtomicU64::new(0);

/// A library is about to be initialized. Those that the program is linked with are initialized behind the C library, and most of them before
/// this one: a stack with wrappers that their constructors may call is loaded before the first. All others are like libraries that are opened
/// later.
pub(crate) fn before_constructors() {
    static IS_DECIDED: AtomicBool = AtomicBool::new(false);
    if RING.watches_constructors.load(Ordering::Acquire) {
        opened::look();
        return;
    }
    // A library that demands to be the first is initialized before the C library.
    if IS_DECIDED.load(Ordering::Relaxed) || !environment::is_there() || IS_DECIDED.swap(true, Ordering::Relaxed) {
        return;
    }
    if is_loaded() || !is_wanted(true) {
        return;
    }
    let has_mpi = objects::has_mpi();
    if !has_mpi {
        WITHOUT_MPI.store(opened::count(), Ordering::Relaxed);
    }
    if (has_mpi || environment::means_all_processes()) && start(Moment::Constructors) {
        opened::all_seen();
        BROUGHT_MPI.store(!has_mpi, Ordering::Relaxed);
        LOADED.store(true, Ordering::Release);
    }
}

extern "C" fn on_load(count: c_int, values: *const *const c_char, environment: *const *const c_char) {
    #[cfg(planted)]
    crate::planted::memory();
    let is_there = is_loaded();
    let has_changed = || WITHOUT_MPI.load(Ordering::Relaxed) != opened::count();
    let has_mpi = !BROUGHT_MPI.load(Ordering::Relaxed) && has_changed() && objects::has_mpi();
    let is_wanted = is_wanted(has_mpi);
    let is_set_up = is_wanted && start(Moment::Load);
    if has_mpi && !is_wanted {
        pass_through::enter();
        if environment::has_lost_a_stack() {
            (core_library::functions().report_lost_stack)();
        }
    } else if !has_mpi && !is_set_up {
        weak::clear_in_all();
    }
    if is_there {
        (core_library::functions().run_constructors)(count, values, environment);
    }
    opened::all_seen();
    LOADED.store(true, Ordering::Release);
    // The stack is loaded, constructors of tools have run, and the program has not begun: a debugger can set breakpoints in both.
    if has_mpi {
        mpir::register();
    }
}

/// Has this library's constructor run, or is the stack there?
pub(crate) fn is_loaded() -> bool {
    LOADED.load(Ordering::Acquire)
}

/// Sets everything up, if there is a stack and an MPI.
pub(crate) fn before_first_call() {
    begin(Moment::FirstCall);
}

fn begin(moment: Moment) {
    let has_stack = environment::names_a_stack();
    if (has_stack || mpir::is_asked_for()) && objects::has_mpi() {
        if has_stack {
            let _ = start(moment);
        }
        mpir::register();
    }
}

/// Does the environment name a stack for a process like this?
#[inline(never)]
fn is_wanted(has_mpi: bool) -> bool {
    environment::names_a_stack() && (has_mpi || environment::means_all_processes())
}

/// Lets the core set everything up. What MPI does not have is known then. Returns whether it did.
fn start(moment: Moment) -> bool {
    static SET_UP: AtomicBool = AtomicBool::new(false);
    let is_set_up = (core_library::functions().start)(moment);
    if is_set_up && !SET_UP.swap(true, Ordering::Relaxed) {
        weak::clear_in_all();
        mpi_with_qmpi::keep_its_own(usize::MAX);
    }
    is_set_up
}

/// Where the first call of a function goes, by the place in its lazy stub that the stub's call returns to, from the first stub on.
pub(crate) extern "C" fn first_call(place: usize) -> usize {
    let number = place / LAZY_SIZE;
    let Some(id) = FnId::from_index(number) else { message::fatal(&[b"a call of an unknown function"], None) };
    // The others may be called before MPI is initialized; tools can be registered until then (the draft, "Tool Life Cycle").
    begin(if INITIALIZATION.contains(&id) { Moment::FirstCall } else { Moment::EarlyCall });
    if let Some(address) = RING.get(id) {
        return address;
    }
    // There is no stack, or it waits for a tool to be registered, or this thread comes back from a constructor of a tool while layers
    // are being loaded.
    pass_through::function(id).unwrap_or_else(|| (core_library::functions().unsupported)(number))
}
