//! The QMPI interface: registration, look-up, and the tools that speak it.
//!
//! | step | file |
//! |---|---|
//! | a tool's constructor registers names, until MPI is initialized | `registry.rs`, `initialization.rs` |
//! | its file is loaded, its name found, its init callback run once per instance | `native.rs` |
//! | what it registers by which numbers of functions, and what comes next for it | `tools.rs`, `numbering.rs` |
//! | functions that an MPI has as macros only | `macros.rs` |
//! | function tables | `table.rs` |
//! | QMPI of the MPI library itself, if it has it, and its error classes | `of_mpi.rs`, `class.rs` |
//! | numbers of layers, and why one cannot be set up | `tool_id.rs`, `error.rs` |

mod class;
mod error;
pub(crate) mod initialization;
pub(crate) mod macros;
pub(crate) mod native;
pub(crate) mod numbering;
pub(crate) mod of_mpi;
pub(crate) mod registry;
pub(crate) mod table;
mod tool_id;
pub(crate) mod tools;

pub(crate) use class::Class;
pub(crate) use error::LayerError;
pub(crate) use tool_id::ToolId;
