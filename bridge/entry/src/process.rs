//! The process that `libqmpi.so` is loaded into: its objects and environment, and the references that are changed in it.

pub(crate) mod environment;
pub(crate) mod glibc;
pub(crate) mod linker_lock;
pub(crate) mod mpi_with_qmpi;
pub(crate) mod objects;
pub(crate) mod opened;
pub(crate) mod own;
pub(crate) mod weak;
