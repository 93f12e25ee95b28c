//! Start-up: when it happens, and in which order.
//!
//! With an MPI library in the process it happens as this library's constructor runs: then constructors of tools run before
//! `main`, as under `LD_PRELOAD`. Where MPI is opened later (Python) it happens at the first call of an MPI function, of
//! whatever function: `MPI_Initialized`, `MPI_Session_init` and others may come before `MPI_Init`. A process without MPI
//! (a shell, a launcher) never gets further than the look for it.
//!
//! A stack with a name that is not registered yet is put off to the first call as well: a constructor that comes after ours
//! may register it.
#![expect(unsafe_code, reason = "an init_array entry, and gettid")]

use std::sync::Arc;
use std::sync::atomic::AtomicI32;

use qmpi_abi::FnId;
use qmpi_loader::conversion::{self, CallerMode};
use qmpi_loader::image::Image;
use qmpi_loader::{Process, log};

use crate::once::{self, Once};
use crate::stack::Requested;
use crate::{base, entry, known, lacking, qmpi, reach, stack, stats};

static STARTED: Once = Once::new(AtomicI32::new(once::IDLE));

#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = on_load;

extern "C" fn on_load() {
    if Process::has_mpi() {
        ensure_started(Moment::Load);
    } else {
        lacking::forget(&Image::of_process());
    }
}

/// When it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// The program is being loaded; constructors are still to come.
    Load,
    /// An MPI function was called.
    FirstCall,
}

/// Where the first call of function number `number` goes: from `FUNCTIONS` on, of the name-shifted ones.
pub(crate) extern "C" fn first_call(number: usize) -> usize {
    let Some(id) = FnId::from_index(number % entry::FUNCTIONS) else {
        log::fatal("a call of an unknown function", None)
    };
    if number >= entry::FUNCTIONS {
        let real = || {
            let real = Process::with_mpi()?.real(id)?;
            conversion::down(real, conversion::arity(id), CallerMode::Ignore).ok()
        };
        return qmpi::entry::resolve(id, real).unwrap_or_else(|| lacking(id));
    }
    ensure_started(Moment::FirstCall);
    if let Some(address) = entry::get(id) {
        return address;
    }
    // Either this MPI has no such function, or a tool's constructor comes back to us while layers are being loaded.
    Process::with_mpi().and_then(|process| process.real(id)).unwrap_or_else(|| lacking(id))
}

/// The MPI of this process has no such function, or there is no MPI.
fn lacking(id: FnId) -> ! {
    let name = id.name();
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

/// Is everything set up?
pub(crate) fn is_done() -> bool {
    STARTED.is_done()
}

/// The same as a call of an MPI function: something is about to be known of MPI.
pub(crate) fn before_first_call() {
    ensure_started(Moment::FirstCall);
}

/// Sets everything up, unless that has happened. A thread that comes meanwhile waits.
fn ensure_started(moment: Moment) {
    // SAFETY: takes no arguments and returns a number.
    let me = unsafe { libc::gettid() };
    STARTED.ensure(me, || start(moment));
}

/// Returns whether everything is set up.
fn start(moment: Moment) -> bool {
    let Some(process) = Process::with_mpi() else { return false };
    let mut process = Arc::new(process);
    let requested = Requested::from_env();
    if moment == Moment::Load && requested.waits_for_names() {
        return false;
    }
    stats::prepare(requested.rank);
    let (mut chain, fortran) = stack::build(&mut process, &requested);
    for id in FnId::all() {
        match chain.entry(id) {
            0 => {}
            address => entry::set(id, address),
        }
        if chain.is_intercepted(id) {
            lacking::intercepted(id);
        }
    }
    base::enter(&process, &mut chain, fortran);
    known::set(process.images());
    qmpi_loader::close_files();
    reach::check(requested.has_layers());
    true
}
