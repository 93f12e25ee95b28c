//! Has the initialization of MPI begun? Tools can be registered until then.
//!
//! The draft, "Tool Life Cycle": "All registration must occur before MPI initialization is started and no tool can be registered with
//! MPI after that point", in the World Model or in the Sessions Model. Where there is a chain, its topmost links of the functions that
//! initialize MPI tell. Where there is none (a process without a stack), and where a Fortran library leads past them, the MPI library
//! is asked: it knows of the World Model only.
#![expect(unsafe_code, reason = "calls MPI_Initialized")]

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

use qmpi_abi::FnId;
use qmpi_loader::Process;
use qmpi_loader::links::observer;

use crate::chain::or_end;

static HAS_BEGUN: AtomicBool = AtomicBool::new(false);

/// A link that records that a call arrived and goes on to `target`.
pub(crate) fn observe(target: usize) -> usize {
    extern "C" fn notify(_: usize) {
        HAS_BEGUN.store(true, Ordering::Relaxed);
    }
    or_end(observer::observe(target, notify, 0))
}

/// Has it begun?
pub(super) fn has_begun() -> bool {
    HAS_BEGUN.load(Ordering::Relaxed) || is_initialized().unwrap_or(false)
}

/// What `MPI_Initialized` of the MPI library says, which may be called at any time (MPI 11.4.1); `None` without an MPI.
fn is_initialized() -> Option<bool> {
    type Initialized = extern "C" fn(*mut c_int) -> c_int;
    let function = Process::with_mpi()?.real(FnId::by_name("MPI_Initialized")?)?;
    // SAFETY: the MPI library's function of this name has this type.
    let function = unsafe { std::mem::transmute::<usize, Initialized>(function) };
    let mut flag = 0;
    function(&raw mut flag);
    Some(flag != 0)
}
