//! `libqmpi_recorder.so`: measures and records calls, for `qmpi run --report` and `--trace`.
//!
//! It is a QMPI tool. The runtime puts an instance of it on each edge of a stack: in front of each layer, and of the MPI library. It uses what
//! `qmpi.h` and `qmpix.h` offer to every tool, and nothing else of the runtime.
//!
//! | what | file |
//! |---|---|
//! | clocks, files, memory, handlers | `system.rs` |
//! | functions of the runtime that it calls | `interface.rs` |
//! | questions to the MPI library | `mpi.rs`, `sizes.rs` |
//! | files that are mapped: of counters, of calls | `counters.rs`, `log.rs` |
//! | what a thread counts, and where | `thread.rs` |
//! | arguments of a call | `arguments.rs` |
//! | an instance: where it stands, and what comes next | `instance.rs` |
//! | how many bytes a call moves | `buffers.rs` |
//! | what `--trace` asks for, what arguments point to | `trace.rs`, `captures.rs` |
//! | what is in buffers, for `--trace=...,buffers` | `call_record.rs`, `contents.rs`, `pending.rs` |
//! | the record of a call | `traced.rs` |
//! | the record of a rank, when it ends | `host_file.rs`, `columns.rs`, `record.rs` |
//! | what is done before and after a call | `call.rs` |
//! | a wrapper for each function of MPI, and what it costs | `wrappers.rs`, `own_cost.rs` |
//! | how it begins | `start.rs` |
//!
//! A call allocates nothing and takes no lock, but for those whose buffers are read (`contents.rs`). A thread's first call takes memory from the
//! kernel.

mod arguments;
mod buffers;
mod call;
mod call_record;
mod captures;
mod columns;
mod contents;
mod counters;
mod host_file;
mod instance;
mod interface;
mod log;
mod mpi;
mod own_cost;
mod pending;
mod record;
mod sizes;
mod start;
mod system;
mod thread;
mod trace;
mod traced;
mod wrappers;

// A panic ends the process where it happens: no unwinder is linked for it.
#[cfg(all(panic = "abort", not(test)))]
#[path = "../../core/src/unwinding.rs"]
mod unwinding;
