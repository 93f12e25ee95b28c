//! What start-up changes in the objects of the program, and in those that it opens later.
//!
//! | what | file |
//! |---|---|
//! | tools that the program is linked with | `program_tools.rs` |
//! | calls of MPI that `ld.so` has bound already; of `PMPI_f` that the program makes; of Fortran | `base.rs`, `fortran.rs` |
//! | functions that are not MPI's: those that layers wrap, some of the C library | `wrapped.rs`, `c_library.rs` |
//! | a process without MPI | `without_mpi.rs` |
//! | where calls enter the stack at the end | `entrance.rs` |
//! | references that are bound anew, with a message | `rebound.rs` |

pub(crate) mod base;
pub(crate) mod c_library;
pub(crate) mod entrance;
pub(crate) mod fortran;
pub(crate) mod program_tools;
mod rebound;
pub(crate) mod without_mpi;
pub(crate) mod wrapped;
