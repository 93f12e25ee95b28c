//! Start-up: one thread at a time, and in which order.
//!
//! The lock of start-up is `ld.so`'s own ([`loader_lock`]). A thread that is in a constructor has that lock, and may be the first
//! to call MPI: it does the work itself, and another thread that was about to begin waits for it, as it would for any `dlopen`. A
//! lock of this library's own would make the two wait for each other.
//!
//! What comes back in the meantime does not wait: a constructor of a tool that calls MPI, or the child of a `fork` whose parent
//! was here. Their calls go to the MPI library.

use std::ffi::{c_char, c_int};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use qmpi_abi::FnId;
use qmpi_dynamic::initialization::Arguments;
use qmpi_loader::process::loader_lock;
use qmpi_loader::{Process, constructors, log};
use qmpi_ring::{Moment, Progress, Writer, progress};

use crate::kept::Kept;
use crate::process::fortran::Fortran;
use crate::process::{base, entrance, environment, fortran, opened, program_pmpi, stand_ins, without_mpi, wrapped};
use crate::report::{lost_stack, recorder, stats};
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
    is_done() || loader_lock::with(|writer| PROGRESS.advance(writer, || set_up(moment, writer)))
}

/// Returns whether everything is set up. A stack with a name that is not registered yet is put off until MPI is initialized: a
/// constructor that comes after this library's may register it, or the program. Calls until then go to the MPI library.
fn set_up(moment: Moment, writer: &Writer) -> bool {
    #[cfg(planted)]
    crate::planted::memory();
    let (mut process, mut requested, mut files) = match Kept::take() {
        Some(Kept { process, requested, files }) => (process, requested, Some(files)),
        None => {
            let Some(process) = Process::with_mpi().or_else(without_mpi::open) else { return false };
            (Arc::new(process), Requested::from_env(), None)
        }
    };
    if moment == Moment::Constructors {
        if requested.waits_for_names() {
            return false;
        }
        let looked_at = stack::look_at_files(&mut process, &requested);
        if !stack::may_come_first(&looked_at) {
            Kept { process, requested, files: looked_at }.keep();
            return false;
        }
        files = Some(looked_at);
    }
    if moment != Moment::FirstCall && requested.waits_for_names() {
        stack::load_early(&mut process, &requested);
        requested = Requested::from_env();
        if requested.waits_for_names() {
            fortran::wait_for_initialization(&process);
            return false;
        }
    }
    stats::prepare(requested.rank);
    recorder::prepare(&process, requested.rank, requested.stack.layers.len());
    let build = || stack::build(&mut process, &requested, files, writer);
    let (mut chain, mut fortran) = if moment == Moment::Constructors { constructors::put_off(build) } else { build() };
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
        program_pmpi::enter(&process, &entries);
        fortran.iter_mut().for_each(Fortran::let_profiling_in);
    }
    base::enter(&process, &mut chain, &entries, fortran);
    recorder::stack_is_built();
    wrapped::enter(process.images(), std::mem::take(&mut chain.others));
    environment::bind(process.images());
    stand_ins::begin(&process);
    entrance::filled(entries);
    opened::set(process.images());
    qmpi_loader::close_files();
    lost_stack::check(requested.has_layers() && !without_mpi::is_opened());
    true
}

/// Runs constructors of tools that were loaded before it was their turn.
pub(crate) extern "C" fn run_constructors(
    count: c_int,
    values: *const *const c_char,
    environment: *const *const c_char,
) {
    loader_lock::with(|_| {
        constructors::run(Arguments { count, values, environment }, stack::initializes);
    });
}

/// A function of this number was called, and MPI does not have it, or there is no MPI.
pub(crate) extern "C" fn unsupported(number: usize) -> ! {
    let name = FnId::from_index(number).map_or("an unknown function", FnId::name);
    match Process::with_mpi() {
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
