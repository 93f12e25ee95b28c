//! The QMPI interface: registration, look-up, and the tools that speak it.
//!
//! | step | file |
//! |---|---|
//! | a tool's constructor registers names | `registry.rs` |
//! | its file is loaded, its name found, its init callback run once per instance | `native.rs` |
//! | what it registers, and what comes next for it | `tools.rs` |
//! | the numbers by which it means functions | `numbering.rs` |
//! | until when that is possible | `initialization.rs` |
//! | functions that an MPI has as macros only | `macros.rs` |
//! | the C functions, but for those that wrappers call (`libqmpi.so` has them) | `interface.rs` |
//! | extensions: function tables, the tools that are present | `table.rs`, `present.rs` |
//! | QMPI of the MPI library itself, if it has it | `of_mpi.rs` |
//! | error classes of the MPI in the process | `class.rs` |

mod class;
pub(crate) mod initialization;
pub(crate) mod interface;
pub(crate) mod macros;
pub(crate) mod native;
pub(crate) mod numbering;
pub(crate) mod of_mpi;
pub(crate) mod present;
mod registry;
pub(crate) mod table;
pub(crate) mod tools;

pub(crate) use class::Class;
pub(crate) use tools::function_of;
