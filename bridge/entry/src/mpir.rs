//! MPIR process acquisition: a rank tells `qmpi run --mpir` of itself, and waits as long as a debugger wants it to.
//!
//! A process that is not below `qmpi run --mpir` has not got the variable, and comes no further than the look for it. One that has, and
//! an MPI, connects as its constructors have run, says who it is, and goes on at the answer. The core does the talking (`core/src/mpir.rs`).

use qmpi_abi::{ABORT, FnId};
use qmpi_mpir::VARIABLE;

use crate::process::environment;
use crate::ring::RING;
use crate::{core_library, pass_through};

/// Is the job under `qmpi run --mpir`?
pub(crate) fn is_asked_for() -> bool {
    environment::is_set(VARIABLE)
}

/// Does a call of this function have to come to its entry stub, where no layer intercepts it?
pub(crate) fn watches(id: FnId) -> bool {
    id == ABORT && is_asked_for()
}

/// Tells of this process, which has an MPI, once. Returns when it may go on.
pub(crate) fn register() {
    if !is_asked_for() {
        return;
    }
    let has_slot = RING.get(ABORT).is_some();
    let abort = if has_slot { None } else { pass_through::function(ABORT) };
    (core_library::functions().register)(abort.unwrap_or(0));
}
