//! From `mpi.h` to prototypes: C text without comments, its conditions decided, then its declarations.

pub(crate) mod condition;
pub(crate) mod header;
pub(crate) mod macros;
pub(crate) mod prototype;
pub(crate) mod source;
