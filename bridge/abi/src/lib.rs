//! What is known about every MPI function: its number, name, argument count, result and Fortran name.
//!
//! The facts live in `functions.tsv`, one row per function in an order that never changes; `table.rs` is
//! generated from it by `shim-gen rust`. What a few headers have as macros only is in `macros.rs`. Tools mean functions by other
//! numbers ([`Numbering`], [`thesis`]). Everything else in the workspace refers to a function by [`FnId`].
//!
//! All arguments of MPI functions are integer-class words (handles are integers or pointers, a status goes by pointer), so their number is
//! all that a call needs, for every MPI. What they mean is in [`parameters`], which only code that shows calls uses; what a function does
//! with requests and objects in [`Handles`].
//!
//! Each module uses those above it only:
//!
//! | module | what it is |
//! |---|---|
//! | `function.rs`, `table.rs` | the row of a function, and the generated rows |
//! | `id.rs` | the number of a function, and the search for it by name |
//! | `symbol.rs` | from a linker symbol to the function |
//! | `mpi_family.rs` | whose handles and constants an MPI library has |
//! | `expression.rs`, `macros.rs` | functions that some headers have as macros only |
//! | `handles.rs`, `parameters/` | what functions do with handles, what their parameters are |
//! | `numbering.rs`, `thesis.rs` | other numbers of functions |
//! | `constants.rs` | the values of constants in each MPI |
//! | `counters.rs`, `trace.rs` | files that the recorder writes and the command reads |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), no_std)]

pub mod constants;
pub mod counters;
mod expression;
mod function;
mod handles;
mod id;
pub mod large_counts;
mod macros;
mod mpi_family;
pub mod numbering;
pub mod parameters;
mod symbol;
mod table;
pub mod thesis;
pub mod trace;

pub use expression::Expression;
pub use function::{Function, Origin, ResultKind};
pub use handles::Handles;
pub use id::{ABORT, FnId, INITIALIZATION, named};
pub use mpi_family::MpiFamily;
pub use numbering::Numbering;
pub use symbol::{Binding, MpiSymbol, classify, classify_c, is_mpi_like};
pub use table::{COUNT, FUNCTIONS};
