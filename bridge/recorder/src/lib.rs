//! `libqmpi_recorder.so`: measures and records calls, for `qmpi run --report` and `--trace`.
//!
//! It is a QMPI tool. The runtime puts an instance of it on each edge of a stack: in front of each layer, and of the MPI library. It uses what
//! `qmpi.h` and `qmpix.h` offer to every tool, and nothing else of the runtime.
//!
//! | what | file |
//! |---|---|
//! | functions of the runtime that it calls | `interface.rs` |
//! | a wrapper for each function of MPI | `wrappers.rs` |
//! | an instance: where it stands, and what comes next | `edge.rs` |
//! | what is done before and after a call | `call.rs` |
//! | what a thread counts, and where | `thread.rs`, `counters.rs` |
//! | how many bytes a call moves | `buffers.rs`, `bytes.rs` |
//! | questions to the MPI library | `mpi.rs` |
//! | the record of a rank, when it ends | `record.rs`, `columns.rs`, `host_file.rs` |
//! | the calls themselves, for `--trace` | `trace.rs`, `log.rs`, `captures.rs` |
//! | what is in buffers, for `--trace=...,buffers` | `contents.rs`, `pending.rs` |
//! | clocks, limits, messages | `system.rs` |
//!
//! A call allocates nothing and takes no lock, but for those whose buffers are read (`contents.rs`). A thread's first call takes memory from the
//! kernel.

mod buffers;
mod bytes;
mod call;
mod captures;
mod columns;
mod contents;
mod counters;
mod edge;
mod host_file;
mod interface;
mod log;
mod mpi;
mod pending;
mod record;
mod system;
mod thread;
mod trace;
mod wrappers;

// A panic ends the process where it happens: no unwinder is linked for it.
#[cfg(all(panic = "abort", not(test)))]
#[path = "../../core/src/unwinding.rs"]
mod unwinding;
