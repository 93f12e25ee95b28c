//! What files, launchers and machines are, in words and in JSON.
//!
//! | what | module |
//! |---|---|
//! | lists of names; a question of `doctor` with its answer | `listing`, `check` |
//! | the setting that helps a tool; how old it is; a tool | `advice`, `standard`, `tool` |
//! | an MPI library, a program | `mpi`, `program` |
//! | launchers, a container | `launch`, `container` |

mod advice;
pub(crate) mod check;
pub(crate) mod container;
pub(crate) mod launch;
pub(crate) mod listing;
pub(crate) mod mpi;
pub(crate) mod program;
mod standard;
pub(crate) mod tool;
