//! `libqmpi.so`: the entry points of MPI, and a look whether this process has an MPI and a stack. Nothing else.
//!
//! It is preloaded into every process of a job: shells, launchers, compilers, the program. So it has neither `std` nor a heap,
//! takes no lock of its own, and does what it does in some microseconds. Where there is an MPI and a stack it opens
//! `libqmpi_core.so`, which loads the tools and fills in the tables that are read here.
//!
//! | when | what | file |
//! |---|---|---|
//! | a call | one jump through a slot, nothing else | `exports/functions.rs`, `exports/shifted.rs`, `arch/` |
//! | the process is loaded, or calls MPI for the first time | is there an MPI, and a stack? | `start.rs`, `process/environment.rs` |
//! | | yes: the core does the rest | `core_library.rs` |
//! | | an MPI without a stack: calls go to the MPI library | `pass_through.rs` |
//! | `dlsym`, `dlvsym`, a weak reference, a library that is opened | the process finds what it would find without this library | `exports/dlsym.rs`, `process/{weak,opened}.rs` |
//! | a QMPI tool asks what comes next | a look into a table | `exports/interface.rs` |
//! | the same by the 2018 prototype's functions | | `exports/thesis.rs`, `arch/x86_64/exec.rs` |
//! | under `qmpi run --mpir` | a rank tells of itself, and waits for a debugger | `mpir.rs` |
//! | objects of the process, glibc's own functions, this library itself | | `process/{objects,glibc,own}.rs` |
//!
//! Symbols are exported here and nowhere else in the workspace: `MPI_*`, `QMPI_*`, `dlsym` and `dlvsym`, never `PMPI_*` (the MPI library
//! calls those itself, and an application that does means to bypass tools).
#![cfg_attr(not(test), no_std)]
#![cfg_attr(miri, allow(dead_code, unfulfilled_lint_expectations, reason = "Miri runs unit tests, not this library"))]

mod arch;
mod core_library;
mod exports;
mod message;
mod mpir;
mod pass_through;
#[cfg(planted)]
mod planted;
mod process;
mod ring;
mod start;

/// Without an unwinder a panic can only end the process; no code here is meant to panic.
#[cfg(not(test))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    message::fatal(&[b"a bug in libqmpi.so"], None)
}
