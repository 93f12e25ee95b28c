//! What other objects find by name: every function here is a symbol of `libqmpi.so`.

mod constructors;
mod dlsym;
mod exec;
mod functions;
mod interface;
mod shifted;
mod stubs;
mod thesis;
