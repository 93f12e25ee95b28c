//! What is generated: Rust tables, lists of entry points, `qmpi.h`, and tools in C.

pub(crate) mod fortran;
pub(crate) mod macros;
pub(crate) mod parameters;
pub(crate) mod passthrough;
pub(crate) mod qmpi;
pub(crate) mod rust;
pub(crate) mod stubs;
pub(crate) mod tool;
