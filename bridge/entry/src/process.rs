//! The process that `libqmpi.so` is loaded into: its environment, its objects, glibc's own functions, and this library itself.

pub(crate) mod environment;
pub(crate) mod glibc;
pub(crate) mod objects;
pub(crate) mod own;
