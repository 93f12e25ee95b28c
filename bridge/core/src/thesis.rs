//! Tools of the 2018 thesis's prototype: `get_interceptions`, and wrappers that get their level and a vector of all layers.
//!
//! | step | file |
//! |---|---|
//! | a library is opened and asked what it intercepts; names that tools compiled without `qmpi_thesis.h` want | `library.rs` |
//! | what comes next for each layer, as its C structs have it | `vector.rs` |
//!
//! The C functions of `qmpi_thesis.h`, and `exec_func`, are in `libqmpi.so`. The level of a layer is its [`ToolId`](crate::qmpi::ToolId) in a stack
//! of its own: in both, 0 is not a tool, and 1 is the outermost.

mod library;
mod vector;

pub(crate) use library::{ThesisLibrary, provide_general_names};
pub(crate) use vector::{VectorBuilder, unsupported};
