//! What files say of MPI: the family of its libraries, their variables, and the numbering of functions.

pub mod abi_family;
pub mod mpi_data;
