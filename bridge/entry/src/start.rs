//! Start-up: when it happens. What happens is the core's business.
//!
//! With an MPI library in the process it happens as this library's constructor runs: then constructors of tools run before
//! `main`, as under `LD_PRELOAD`. Where MPI is opened later (Python) it happens at the first call of an MPI function, or when the
//! process looks something up in what it has opened, whichever is first. A process without MPI (a shell, a launcher) never gets
//! further than the look for it, unless the environment says that the stack is for all processes: then the core opens the MPI library
//! that the tools are linked with, as `ld.so` does for preloaded ones.
#![expect(unsafe_code, reason = "an init_array entry")]

use core::sync::atomic::{AtomicBool, Ordering};

use qmpi_abi::{ABORT, FnId, INITIALIZATION};
use qmpi_ring::{Moment, message};

use crate::arch::LAZY_SIZE;
use crate::core_library;
use crate::process::{environment, objects};
use crate::references::opened::{self, All};
use crate::references::pass_through;
use crate::ring::RING;

// Miri runs constructors as well, and has no dynamic linker to look at.
#[cfg_attr(not(miri), used, unsafe(link_section = ".init_array"))]
static ON_LOAD: extern "C" fn() = on_load;

/// Whether this library's constructor has run. Before, the process is not looked at.
static LOADED: AtomicBool = AtomicBool::new(false);

extern "C" fn on_load() {
    #[cfg(planted)]
    crate::planted::memory();
    let has_mpi = objects::has_mpi();
    let is_wanted = environment::names_a_stack() && (has_mpi || environment::means_all_processes());
    let is_set_up = is_wanted && start(Moment::Load);
    if has_mpi && !is_wanted {
        opened::see_to_all(All::PassBy);
        if environment::has_lost_a_stack() {
            (core_library::functions().report_lost_stack)();
        }
    } else if !is_set_up {
        // A stack waits for the name of a tool where there is an MPI.
        opened::see_to_all(if has_mpi { All::Nothing } else { All::WithoutMpi });
    }
    LOADED.store(true, Ordering::Release);
    // The stack is loaded, constructors of tools have run, and the program has not begun: a debugger can set breakpoints in both.
    if has_mpi {
        tell_of_this_process();
    }
}

/// Has this library's constructor run?
pub(crate) fn is_loaded() -> bool {
    LOADED.load(Ordering::Acquire)
}

/// Sets everything up for a constructor that comes before this library's, if there is a stack and an MPI. Returns whether it did.
pub(crate) fn before_constructor_goes_on() -> bool {
    environment::names_a_stack() && objects::has_mpi() && start(Moment::EarlyCall)
}

/// Sets everything up, if there is a stack and an MPI.
pub(crate) fn begin(moment: Moment) {
    let has_stack = environment::names_a_stack();
    if (has_stack || environment::is_under_mpir()) && objects::has_mpi() {
        if has_stack {
            let _ = start(moment);
        }
        tell_of_this_process();
    }
}

/// Lets the core set everything up. What MPI does not have is known then. Returns whether it did.
fn start(moment: Moment) -> bool {
    static SET_UP: AtomicBool = AtomicBool::new(false);
    let is_set_up = (core_library::functions().start)(moment);
    if is_set_up && !SET_UP.swap(true, Ordering::Relaxed) {
        opened::see_to_all(All::Stack);
    }
    is_set_up
}

/// MPIR process acquisition: tells `qmpi run --mpir`, if the job is under that, of this process, which has an MPI, once; and waits as long as a
/// debugger wants it to. The core does the talking (`core/src/mpir.rs`).
fn tell_of_this_process() {
    if environment::is_under_mpir() {
        let has_slot = RING.get(ABORT).is_some();
        let abort = if has_slot { None } else { pass_through::function(ABORT) };
        (core_library::functions().register)(abort.unwrap_or(0));
    }
}

/// Where the first call of a function goes, by the place in its lazy stub that the stub's call returns to, from the first stub on.
pub(crate) extern "C" fn first_call(place: usize) -> usize {
    let number = place / LAZY_SIZE;
    let Some(id) = FnId::from_index(number) else { message::fatal(&[b"an unknown function"], None) };
    // The others may be called before MPI is initialized; tools can be registered until then (the draft, "Tool Life Cycle").
    begin(if INITIALIZATION.contains(&id) { Moment::FirstCall } else { Moment::EarlyCall });
    if let Some(address) = RING.get(id) {
        return address;
    }
    // There is no stack, or it waits for a tool to be registered, or this thread comes back from a constructor of a tool while layers
    // are being loaded.
    pass_through::function(id).unwrap_or_else(|| (core_library::functions().unsupported)(number))
}
