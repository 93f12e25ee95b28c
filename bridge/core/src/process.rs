//! What start-up changes in the objects of the program, and in those that it opens later.
//!
//! | what | file |
//! |---|---|
//! | calls that `ld.so` has bound already | `base.rs` |
//! | PMPI tools that the program is linked with | `program_tools.rs` |
//! | calls of `PMPI_f` that the program itself makes | `program_pmpi.rs` |
//! | Fortran calls | `fortran.rs` |
//! | libraries that are opened later | `opened.rs` |
//! | functions that are not MPI's and that layers wrap | `wrapped.rs` |
//! | unwinders | `unwinders.rs` |
//! | a process without MPI | `without_mpi.rs` |
//! | calls of `dlopen`: what is opened may be a tool, or need one | `stand_ins.rs` |
//! | functions that change the environment | `environment.rs` |
//! | where calls enter the stack at the end | `entrance.rs` |

pub(crate) mod base;
pub(crate) mod entrance;
pub(crate) mod environment;
pub(crate) mod fortran;
pub(crate) mod name;
pub(crate) mod opened;
pub(crate) mod program_pmpi;
pub(crate) mod program_tools;
pub(crate) mod stand_ins;
pub(crate) mod unwinders;
pub(crate) mod without_mpi;
pub(crate) mod wrapped;
