//! MPIR process acquisition: what this process tells `qmpi run --mpir`. When it does is the entry library's business (`entry/src/start.rs`).
//!
//! Nothing of the connection stays: programs close descriptors that they do not know, and open others in their places. So MPI_Abort connects
//! again.

mod socket;

use std::ffi::c_int;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicBool, Ordering};

use qmpi_abi::{ABORT, Binding};
use qmpi_dynamic::LinkerLock;
use qmpi_links::observer;
use qmpi_loader::Process;
use qmpi_loader::image::rebind;
use qmpi_loader::process::loader_lock;
use qmpi_mpir::address::Address;
use qmpi_mpir::message;
use qmpi_mpir::{GO, VARIABLE};
use qmpi_system::Locked;
use socket::Connection;

use crate::process::fortran::is_fortran;
use crate::ring::{is_entry, ring};

/// Tells of this process, which has an MPI, once; returns when it may go on. `abort`: MPI_Abort, if no slot leads to one; 0: there is none.
pub(crate) extern "C" fn register(abort: usize) {
    static IS_TOLD: AtomicBool = AtomicBool::new(false);
    if !IS_TOLD.swap(true, Ordering::Relaxed) {
        tell(None);
    }
    loader_lock::with(|lock| watch_abort(lock, abort));
}

/// Leads the program's MPI_Abort by way of here. Start-up may have filled the slot since the last time.
fn watch_abort(lock: &LinkerLock, abort: usize) {
    static LINK: Locked<usize> = Locked::new(0);
    let mut link = LINK.lock();
    let next = ring().get(ABORT).unwrap_or(abort);
    if next != 0 && next != *link {
        *link = observer::observe(next, at_abort, 0);
        ring().set(ABORT, *link);
        watch_fortran(lock);
    }
}

/// The same for MPI's Fortran library where its calls do not come to `libqmpi.so`: those of `PMPI_Abort` (Open MPI), and with a stack
/// all, as they are bound to the stack.
fn watch_fortran(lock: &LinkerLock) {
    let Some(process) = Process::with_mpi(lock) else { return };
    let is_ours = |held: usize| process.images().iter().any(|image| is_entry(image) && image.contains(held));
    for image in process.mpi().filter(|image| is_fortran(image)) {
        rebind::exchange(
            lock,
            image,
            |_| true,
            |reference, held| {
                let symbol = qmpi_abi::classify_c(reference.name)?;
                if symbol.id != ABORT || symbol.binding != Binding::C || !reference.is_call {
                    return None;
                }
                // A slot that `ld.so` has not bound yet leads back into the library.
                let next = match held() {
                    held if !image.contains(held) => held,
                    _ if symbol.profiling => process.function(reference.name)?,
                    _ => return None,
                };
                (!is_ours(next)).then(|| observer::observe(next, at_abort, 0))
            },
        );
    }
}

extern "C" fn at_abort(_: usize, code: usize) {
    // The function takes an `int`: the upper half of the register says nothing.
    tell(Some((code as u32).cast_signed()));
}

/// Tells of this process: that it is there, or the code with which it has called MPI_Abort.
fn tell(abort: Option<c_int>) {
    let Ok(value) = std::env::var(VARIABLE) else { return };
    let Some(address) = Address::parse(&value) else { return };
    let local = Connection::to_name(address.name).ok();
    let to_network = |address| Connection::to_network(address).ok();
    let Some(connection) = local.or_else(|| address.of_network().find_map(to_network)) else { return };
    let (code, pid) = (abort.map_or_else(String::new, |code| code.to_string()), std::process::id().to_string());
    let system = rustix::system::uname();
    let executable = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    let variable = |name: &str| Some([name.as_bytes(), b"=", std::env::var_os(name)?.as_bytes()].concat());
    let variables: Vec<Vec<u8>> = qmpi_plan::told_by_launchers().filter_map(variable).collect();
    let mut fields = vec![code.as_bytes(), pid.as_bytes()];
    fields.extend([system.nodename().to_bytes(), executable.as_os_str().as_bytes()]);
    fields.extend(variables.iter().map(Vec::as_slice));
    if connection.send(&message::write(address.token, &fields)).is_ok() {
        while connection.receive().is_some_and(|byte| byte != GO) {}
    }
}
