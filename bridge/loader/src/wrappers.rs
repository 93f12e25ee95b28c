//! The wrappers of a tool: where they are in its files, and those of functions that are not MPI's.

pub(crate) mod parts;
pub mod wrapped;
