//! `libqmpi.so`: the entry points of MPI, and a look whether this process has an MPI and a stack. Nothing else.
//!
//! It is preloaded into every process of a job: shells, launchers, compilers, the program. So it has neither `std` nor a heap,
//! takes no lock of its own, and does what it does in some microseconds. Where there is an MPI and a stack it opens
//! `libqmpi_core.so`, which loads the tools and fills in the tables that are read here.
//!
//! | module | what |
//! |---|---|
//! | `planted` | defects for the tests of the tests |
//! | `arch/` | the machine code: its text, and what Rust knows of it |
//! | `ring.rs` | the words that the core reads and writes, the slots of calls among them |
//! | `process/` | its environment and objects, glibc's own functions, this library itself: is there an MPI, and a stack? |
//! | `core_library.rs` | yes: the core does the rest |
//! | `references/` | weak references, calls where there is no stack, libraries that are opened: the process finds what it would find without this library |
//! | `start.rs` | when all that happens: the process is loaded, or calls MPI for the first time; under `qmpi run --mpir` it tells of itself then |
//! | `exports/` | what others find by name: a call is one jump through a slot; `dlsym`; QMPI's functions, and those of the 2018 prototype |
//!
//! Symbols are exported here and nowhere else in the workspace: `MPI_*`, `QMPI_*`, `dlsym` and `dlvsym`, never `PMPI_*` (the MPI library
//! calls those itself, and an application that does means to bypass tools).
#![cfg_attr(not(test), no_std)]
#![cfg_attr(miri, allow(dead_code, unfulfilled_lint_expectations, reason = "Miri runs unit tests, not this library"))]

mod arch;
mod core_library;
mod exports;
#[cfg(planted)]
mod planted;
mod process;
mod references;
mod ring;
mod start;

/// Without an unwinder a panic can only end the process; no code here is meant to panic.
#[cfg(not(test))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    qmpi_ring::message::fatal(&[b"a bug in libqmpi.so"], None)
}
