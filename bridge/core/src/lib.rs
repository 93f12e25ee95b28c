//! `libqmpi_core.so`: loads the tools of a stack, puts them on top of each other, and fills in what `libqmpi.so` jumps through.
//!
//! `libqmpi.so` opens it where there is an MPI and a stack. Everything here runs while the process is set up, or where a tool asks
//! for more than a look into a table; nothing is on the path of a call.
//!
//! | what | file |
//! |---|---|
//! | the functions that `libqmpi.so` calls, and its words | `functions.rs`, `ring.rs` |
//! | start-up: one thread at a time, under `ld.so`'s lock | `start.rs` |
//! | layers are inspected, loaded, put on top of each other | `stack.rs` |
//! | the next link of every function below each layer | `chain.rs` |
//! | QMPI tools | `qmpi.rs`, `qmpi/` |
//! | tools of the thesis's prototype | `thesis.rs`, `thesis/` |
//! | tools of the program; Fortran; libraries opened later | `program_tools.rs`, `base.rs`, `fortran.rs`, `opened.rs` |
//! | versions of wrappers | `versions.rs` |
//! | unwinders of the program see frames of tools | `unwinders.rs` |
//! | `MPI_Finalize`: did it reach the MPI library? | `finalize.rs` |
//! | on several hosts: do the others have the stack? | `reach.rs` |
//! | on request: calls per layer | `stats.rs` |
//! | for `qmpi list`: what tools that register themselves intercept | `survey.rs` |

mod base;
mod chain;
mod finalize;
mod fortran;
mod functions;
mod name;
mod opened;
mod program_tools;
mod qmpi;
mod reach;
mod ring;
mod stack;
mod start;
mod stats;
mod survey;
mod thesis;
mod unwinders;
mod versions;
