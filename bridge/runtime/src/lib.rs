//! `libqmpi.so`: stands before the MPI library, and sends every call through the stack of layers.
//!
//! | when | what | file |
//! |---|---|---|
//! | a call | one jump through a slot, nothing else | `entry.rs`, `entry/list.rs`, `arch/` |
//! | the process loads, or calls MPI for the first time | find MPI, load layers, fill the slots | `start.rs` |
//! | | layers are looked at, loaded, put on top of each other | `stack.rs` |
//! | | who comes after whom | `chain.rs` |
//! | | tools that speak QMPI | `qmpi.rs`, `qmpi/` |
//! | | tools of the thesis's prototype | `thesis.rs`, `thesis/` |
//! | | tools of the program; Fortran; libraries opened later | `program_tools.rs`, `base.rs`, `fortran.rs`, `late.rs`, `known.rs` |
//! | `dlsym`, or a weak reference | what a program must not find: functions that MPI lacks | `dlsym.rs`, `lacking.rs` |
//! | `MPI_Finalize` | did it reach the MPI library? | `finalize.rs` |
//! | on several hosts | do the others have the stack? | `reach.rs` |
//! | on request | calls per layer | `stats.rs` |
//! | | what tools that register themselves intercept | `survey.rs` |
//!
//! Symbols are exported here and nowhere else in the workspace: `MPI_*`, `QMPI_*` and `dlsym`, never `PMPI_*` (the MPI library calls those
//! itself, and an application that does means to bypass tools).

mod arch;
mod base;
mod chain;
mod dlsym;
mod entry;
mod finalize;
mod fortran;
mod known;
mod lacking;
mod late;
mod once;
mod program_tools;
mod published;
mod qmpi;
mod reach;
mod stack;
mod start;
mod stats;
mod survey;
mod sync;
mod thesis;
