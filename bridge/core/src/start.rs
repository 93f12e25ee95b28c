//! Start-up: one thread at a time, and in which order.
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
use qmpi_loader::process::loader_lock;
use qmpi_ring::{Moment, Progress, progress};
use qmpi_system::log;

use crate::process::fortran::Fortran;
use crate::process::{base, entrance, environment, fortran, opened, program_pmpi, stand_ins, without_mpi, wrapped};
use crate::qmpi::present;
use crate::report::{edges, lost_stack};
use crate::requested::Requested;
use crate::ring::ring;
use crate::stack;

static PROGRESS: Progress = Progress::new(AtomicU8::new(progress::IDLE));

/// Is everything set up?
pub(crate) fn is_done() -> bool {
    PROGRESS.is_done()
}

/// Sets everything up, unless that has happened. Returns whether the slots are filled.
pub(crate) extern "C" fn start(moment: Moment) -> bool {
    is_done() || loader_lock::with(|lock| PROGRESS.advance(lock, || set_up(moment, lock)))
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
    environment::expect(lock, &requested.stack.layers, process.images());
    present::set_process(&process, &requested);
    edges::prepare(process.images());
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
        program_pmpi::enter(lock, &process, &entries);
        fortran.iter_mut().for_each(Fortran::let_profiling_in);
    }
    base::enter(lock, &process, &mut chain, &entries, fortran, moment);
    wrapped::enter(lock, process.images(), std::mem::take(&mut chain.others));
    environment::bind(lock, process.images());
    stand_ins::begin(lock, &process);
    entrance::filled(entries);
    opened::set(process.images());
    qmpi_loader::close_files();
    lost_stack::check(requested.has_layers() && !without_mpi::is_opened());
    true
}

/// A function of this number was called, and MPI does not have it, or there is no MPI.
pub(crate) extern "C" fn unsupported(number: usize) -> ! {
    let name = FnId::from_index(number).map_or("an unknown function", FnId::name);
    match loader_lock::with(Process::with_mpi) {
        Some(process) => log::fatal(
            &format!("{name} was called, which {} does not have", process.mpi_name()),
            Some("the program was built for a newer MPI, or for another one"),
        ),
        None => log::fatal(
            &format!("{name} was called in a process without an MPI library"),
            Some("link the program with one, or open one first"),
        ),
    }
}
