//! What other objects find by name: every function here is a symbol of `libqmpi.so`.

pub(crate) mod constructors;
pub(crate) mod dlsym;
pub(crate) mod functions;
pub(crate) mod interface;
pub(crate) mod shifted;
pub(crate) mod thesis;
