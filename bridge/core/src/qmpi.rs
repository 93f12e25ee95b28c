//! The QMPI interface: registration, look-up, and the tools that speak it.
//!
//! | step | file |
//! |---|---|
//! | a tool's constructor registers names, until MPI is initialized | `registry.rs`, `mpi.rs` |
//! | its file is loaded, its name found, its init callback run once per instance | `native.rs` |
//! | what it registers by which numbers of functions, and what comes next for it | `tools.rs`, `mpi.rs` |
//! | functions that an MPI has as macros only | `macros.rs` |
//! | function tables | `table.rs` |
//! | QMPI of the MPI library itself, if it has it, and its error classes | `of_mpi.rs`, `mpi.rs` |
//! | numbers of layers, and why one cannot be set up | `tool_id.rs`, `error.rs` |

mod error;
pub(crate) mod macros;
pub(crate) mod mpi;
pub(crate) mod native;
pub(crate) mod of_mpi;
pub(crate) mod registry;
pub(crate) mod table;
mod tool_id;
pub(crate) mod tools;

pub(crate) use error::LayerError;
pub(crate) use mpi::Class;
pub(crate) use tool_id::ToolId;
