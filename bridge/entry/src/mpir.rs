//! MPIR process acquisition: a rank tells `qmpi run --mpir` of itself, and waits as long as a debugger wants it to.
//!
//! A process that is not below `qmpi run --mpir` has not got the variable, and comes no further than the look for it. One that has, and
//! an MPI, connects as its constructors have run, says who it is, and goes on at the answer. The core does the talking (`core/src/mpir.rs`).

use qmpi_abi::ABORT;

use crate::core_library;
use crate::process::environment;
use crate::references::pass_through;
use crate::ring::RING;

/// Tells of this process, which has an MPI, once. Returns when it may go on.
pub(crate) fn register() {
    if environment::is_under_mpir() {
        let has_slot = RING.get(ABORT).is_some();
        let abort = if has_slot { None } else { pass_through::function(ABORT) };
        (core_library::functions().register)(abort.unwrap_or(0));
    }
}
