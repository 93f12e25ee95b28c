//! `libqmpi_core.so`: loads the tools of a stack, puts them on top of each other, and fills in what `libqmpi.so` jumps through.
//!
//! `libqmpi.so` opens it where there is an MPI and a stack. Everything here runs while the process is set up, or where a tool asks
//! for more than a look into a table; nothing is on the path of a call.
//!
//! | what | file |
//! |---|---|
//! | the functions that `libqmpi.so` calls, and its words | `functions.rs`, `ring.rs` |
//! | start-up: one thread at a time, under `ld.so`'s lock | `start.rs` |
//! | the stack that the environment asks for | `requested.rs` |
//! | layers are planned, loaded, put on top of each other | `stack.rs` |
//! | the next link of every function below each layer | `chain.rs` |
//! | layers that are switched off and on while the program runs | `switching.rs`, `switching/` |
//! | QMPI tools | `qmpi.rs`, `qmpi/` |
//! | tools of the thesis's prototype | `thesis.rs`, `thesis/` |
//! | the program's own objects: calls bound already, its tools, Fortran, libraries opened later | `process.rs`, `process/` |
//! | versions of wrappers | `versions.rs` |
//! | where its memory comes from | `heap.rs` |
//! | why it needs no unwinder | `unwinding.rs` |
//! | what it tells `qmpi run --mpir` | `mpir.rs`, `mpir/` |
//! | warnings, counts of calls, answers for `qmpi list` | `report.rs`, `report/` |

mod chain;
mod functions;
mod heap;
mod mpir;
#[cfg(planted)]
#[path = "../../entry/src/planted.rs"]
mod planted;
mod process;
mod qmpi;
mod report;
mod requested;
mod ring;
mod stack;
mod start;
mod switching;
mod thesis;
// Tests unwind.
#[cfg(panic = "abort")]
mod unwinding;
mod versions;
