//! Tools of the 2018 thesis's prototype: `get_interceptions`, and wrappers that get their level and a vector of all layers.
//!
//! | step | file |
//! |---|---|
//! | a library is opened and asked what it intercepts | `library.rs` |
//! | what comes next for each layer, as its C structs have it | `vector.rs` |
//! | the C functions of `qmpi_thesis.h` | `interface.rs` |
//! | `exec_func`: machine code | `../arch/x86_64/exec.rs` |
//!
//! The level of a layer is its [`ToolId`](crate::chain::ToolId): in both, 0 is not a tool, and 1 is the outermost.

mod interface;
mod library;
pub(crate) mod vector;

pub(crate) use interface::{misused, provide_general_names};
pub(crate) use library::Library;
pub(crate) use vector::Builder;
