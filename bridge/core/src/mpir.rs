//! MPIR process acquisition: what this process tells `qmpi run --mpir`. When it does is the entry library's business (`entry/src/mpir.rs`).
//!
//! Nothing of the connection stays: programs close descriptors that they do not know, and open others in their places. So MPI_Abort connects
//! again.

mod socket;

use std::ffi::c_int;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use qmpi_abi::ABORT;
use qmpi_loader::links::observer;
use qmpi_mpir::address::Address;
use qmpi_mpir::message::{Kind, Writer};
use qmpi_mpir::{GO, LIMIT, VARIABLE};
use socket::Connection;

use crate::chain::or_end;
use crate::ring::ring;

/// Tells of this process, which has an MPI, once; returns when it may go on. `abort`: MPI_Abort, if no slot leads to one; 0: there is none.
pub(crate) extern "C" fn register(abort: usize) {
    static IS_TOLD: AtomicBool = AtomicBool::new(false);
    if !IS_TOLD.swap(true, Ordering::Relaxed) {
        tell(Kind::Rank, 0);
    }
    watch_abort(abort);
}

/// Leads the program's MPI_Abort by way of here. Start-up may have filled the slot since the last time.
fn watch_abort(abort: usize) {
    static LINK: Mutex<usize> = Mutex::new(0);
    let mut link = LINK.lock().unwrap_or_else(PoisonError::into_inner);
    let next = ring().get(ABORT).unwrap_or(abort);
    if next != 0 && next != *link {
        *link = or_end(observer::observe_second(next, at_abort, 0));
        ring().set(ABORT, *link);
    }
}

extern "C" fn at_abort(_: usize, code: usize) {
    // The function takes an `int`: the upper half of the register says nothing.
    tell(Kind::Abort, (code as u32).cast_signed());
}

fn tell(kind: Kind, code: c_int) {
    let Some(value) = std::env::var_os(VARIABLE) else { return };
    let Some(address) = Address::parse(value.as_bytes()) else { return };
    let local = Connection::to_name(address.name);
    let Some(connection) = local.or_else(|| address.of_network().find_map(Connection::to_network)) else { return };
    let mut bytes = [0; LIMIT];
    let mut writer = Writer::new(&mut bytes, address.token, kind);
    writer.number(code);
    writer.number(std::process::id().cast_signed());
    socket::with_host(|host| writer.field(&[host]));
    let executable = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    writer.field(&[executable.as_os_str().as_bytes()]);
    for name in qmpi_plan::told_by_launchers() {
        if let Some(value) = std::env::var_os(name) {
            writer.field(&[name.as_bytes(), b"=", value.as_bytes()]);
        }
    }
    if connection.send(writer.finish()) {
        while connection.receive().is_some_and(|byte| byte != GO) {}
    }
}
