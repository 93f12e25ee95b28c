//! What files say of MPI: whose library it is, its variables, and the numbering of functions.

pub mod abi_family;
pub mod mpi_data;
pub mod numbering_note;
