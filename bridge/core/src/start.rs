//! Start-up, and what the program opens later: one thread at a time, and in which order.
//!
//! The lock of start-up is `ld.so`'s own ([`loader_lock`]). A thread that is in a constructor has that lock, and may be the first
//! to call MPI: it does the work itself, and another thread that was about to begin waits for it, as it would for any `dlopen`. A
//! lock of this library's own would make the two wait for each other.
//!
//! What comes back in the meantime does not wait: a constructor of a tool that calls MPI, or the child of a `fork` whose parent
//! was here. Their calls go to the MPI library.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use qmpi_abi::FnId;
use qmpi_dynamic::LinkerLock;
use qmpi_loader::Process;
use qmpi_loader::image::listed::Listed;
use qmpi_loader::process::loader_lock;
use qmpi_ring::{Moment, Progress, progress};
use qmpi_system::{Locked, log};

use crate::process::fortran::{self, Fortran};
use crate::process::{base, c_library, entrance, without_mpi, wrapped};
use crate::requested::Requested;
use crate::ring::ring;
use crate::{lost_stack, present, recorder, stack, versions};

static PROGRESS: Progress = Progress::new(AtomicU8::new(progress::IDLE));

/// The objects of the process that have been dealt with. Locked under `ld.so`'s lock only, so it is never waited for.
static DEALT_WITH: Locked<Option<Listed>> = Locked::new(None);

/// Sets everything up, unless that has happened. Returns whether the slots are filled.
pub(crate) extern "C" fn start(moment: Moment) -> bool {
    PROGRESS.is_done() || loader_lock::with(|lock| PROGRESS.advance(lock, || set_up(moment, lock)))
}

/// Returns whether everything is set up. A stack with a name that is not registered yet is put off until MPI is initialized: a
/// constructor that comes after this library's may register it, or the program. Calls until then go to the MPI library.
fn set_up(moment: Moment, lock: &LinkerLock) -> bool {
    #[cfg(planted)]
    crate::planted::memory();
    let Some(process) = Process::with_mpi(lock).or_else(|| without_mpi::open(lock)) else { return false };
    if moment != Moment::Load {
        process.keep_mpi();
    }
    let (mut process, mut requested) = (Arc::new(process), Requested::from_env());
    if moment != Moment::FirstCall && requested.waits_for_names() {
        stack::load_early(&mut process, &requested);
        requested = Requested::from_env();
        if requested.waits_for_names() {
            fortran::wait_for_initialization(lock, &process);
            return false;
        }
    }
    c_library::expect_environments(lock, &requested.stack.layers, process.images());
    present::set_process(&process, &requested);
    recorder::prepare(process.images());
    let (mut chain, mut fortran) = stack::build(&mut process, &requested, lock);
    let entries = chain.all_entries();
    for id in FnId::all() {
        match entries[id.index()] {
            0 => {}
            address => ring().set(id, address),
        }
        if chain.is_intercepted(id) {
            ring().intercepted[id.index()].store(true, Ordering::Relaxed);
        }
    }
    if requested.stack.program_pmpi.enters(chain.is_of_qmpi_tools()) {
        base::let_profiling_in(lock, &process, &entries);
        fortran.iter_mut().for_each(Fortran::let_profiling_in);
    }
    base::enter(lock, &process, &mut chain, &entries, fortran, moment);
    wrapped::enter(lock, process.images(), std::mem::take(&mut chain.others));
    c_library::follow_environment(lock, process.images());
    c_library::begin_stand_ins(lock, &process);
    entrance::filled(entries);
    *DEALT_WITH.lock() = Some(Listed::of(process.images()));
    qmpi_loader::close_files();
    lost_stack::check(!requested.stack.layers.is_empty() && !without_mpi::is_opened());
    true
}

/// Deals with objects that the program opened since: Fortran calls in them enter the stack, and C calls find the version of a wrapper that they
/// ask for. `libqmpi.so` tells when there are any (`entry/src/process/opened.rs`). Under `ld.so`'s lock no other thread closes one meanwhile.
pub(crate) extern "C" fn objects_opened() {
    if !PROGRESS.is_done() {
        // Of Open MPI, Fortran's library calls the C library by names that libqmpi.so does not have: no first call would come.
        let is_due =
            loader_lock::with(|lock| Process::with_mpi(lock).is_some_and(|process| Fortran::is_there(&process)));
        if is_due {
            start(Moment::EarlyCall);
        }
        return;
    }
    loader_lock::with(|lock| {
        let now = DEALT_WITH.lock().take().unwrap_or_default().since();
        *DEALT_WITH.lock() = Some(now.clone());
        let (images, new) = (now.images(), now.new_images());
        without_mpi::check(new);
        c_library::list_all_namespaces(lock, new);
        wrapped::enter_opened(lock, images, new);
        c_library::follow_environment(lock, new);
        c_library::stand_in_for_opened(lock, new);
        versions::bind_opened(lock, images, new);
        fortran::enter_opened(lock, images, new);
    });
}

/// A function of this number was called, and MPI does not have it, or there is no MPI.
pub(crate) extern "C" fn unsupported(number: usize) -> ! {
    let name = FnId::from_index(number).map_or("an unknown function", FnId::name);
    let (reason, hint) = match loader_lock::with(Process::with_mpi) {
        Some(process) => (
            format!(", which {} does not have", process.mpi_name()),
            "the program was built for a newer MPI, or for another one",
        ),
        None => (" in a process without an MPI library".into(), "link the program with one, or open one first"),
    };
    log::fatal(&format!("{name} was called{reason}"), Some(hint))
}
