//! What is known about every MPI function: its number, name, argument count, result and Fortran name.
//!
//! The facts live in `functions.tsv`, one row per function in an order that never changes; `table.rs` is
//! generated from it by `shim-gen rust`. Tools mean functions by other numbers ([`Numbering`],
//! [`thesis`]). Everything else in the workspace refers to a function by [`FnId`].
//!
//! Not here: types of arguments, but for what a function does with requests and objects ([`Handles`]). All arguments of MPI functions are integer-class words (handles are integers
//! or pointers, a status goes by pointer), so their number is all that the bridge needs, for every MPI.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), no_std)]

mod function;
mod handles;
mod id;
pub mod numbering;
mod symbol;
mod table;
pub mod thesis;

pub use function::{Function, Origin, ResultKind};
pub use handles::Handles;
pub use id::FnId;
pub use numbering::Numbering;
pub use symbol::{Binding, MpiSymbol, classify, classify_c, is_mpi_like};
pub use table::{COUNT, FUNCTIONS};
