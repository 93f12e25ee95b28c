//! `libqmpi_fortran.so`: MPI's functions in Fortran under the prefix QMPI_ (the draft, requirement 4), for programs that link it.
//!
//! `call QMPI_SEND(...)` goes to the MPI library past all layers, with the arguments of `MPI_SEND`. Each entry point is a jump to MPI's
//! profiling procedure, by a weak reference of this library to `pmpi_send_`. That is all there is to it: where there is a stack, the core
//! binds references to such names, of whichever object, past all layers (`core/src/process/fortran.rs`).
//!
//! | called | goes to | binding |
//! |---|---|---|
//! | `qmpi_send_`, `qmpi_send__`, `qmpi_send`, `QMPI_SEND` | `pmpi_send_` | `mpif.h`, `use mpi` |
//! | `qmpi_send_f08_`, `qmpi_send_f08ts_`, `..._large_` | `pmpi_send_f08_` and so on, of MPICH `pmpir_send_f08_` | `use mpi_f08` (MPI 4.0, 19.1.5) |
//!
//! | module | what |
//! |---|---|
//! | `missing` | what happens where no library has the procedure |
//! | `arch` | the machine code |
//! | `list` | all entry points |
//!
//! It is a library of its own because few programs want it, while `libqmpi.so` is in every process of a job:
//! docs/maintainers/decisions/fortran.md.
#![cfg_attr(not(test), no_std)]
#![expect(unsafe_code, reason = "exported entry points, and what ends a process")]

mod arch;
mod list;
mod missing;

/// Without an unwinder a panic can only end the process; no code here is meant to panic.
#[cfg(not(test))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    qmpi_ring::message::fatal(&[b"a bug in libqmpi_fortran.so ended the process"], None)
}
