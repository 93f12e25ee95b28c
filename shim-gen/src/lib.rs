//! Reads the headers of any MPI and writes what is generated from them.
//!
//! The command `shim-gen` is [`cli`] over these modules; other generators can be built on [`Header`] and [`FunctionList`]. It does not use
//! the types of `qmpi-abi`, whose tables it writes: a table that is wrong must not keep its generator from being built.
//!
//! Each module uses those above it only:
//!
//! | module | what it is |
//! |---|---|
//! | `error.rs` | what can go wrong, with advice |
//! | `text.rs` | text files of one fact a line |
//! | `standard.rs`, `fortran.rs` | what the standard and Fortran say of a function |
//! | `read/` | from `mpi.h` to prototypes and macros |
//! | `table.rs` | functions.tsv: the functions of all headers, dated by data/standard.txt |
//! | `numbering.rs` | numbering/*.txt: the numbers that each MPICH has for functions |
//! | `parameters/` | parameters.tsv: what parameters are, by the headers and data/parameters.txt |
//! | `availability.rs` | which `mpi.h` has what |
//! | `write/` | what is generated from headers and from these files: Rust, `qmpi.h`, a page, and tools in C |
//! | `manual.rs`, `cli.rs` | the command |
#![forbid(unsafe_code)]

mod availability;
pub mod cli;
mod error;
mod fortran;
mod manual;
mod numbering;
mod parameters;
mod read;
mod standard;
mod table;
mod text;
mod write;

pub use error::{Result, ShimError};
pub use numbering::{HeaderNumbering, Release, enumerator};
pub use parameters::Parameters;
pub use parameters::row::{ListedParameter, ParameterDirection};
pub use parameters::rules::Rules;
pub use read::header::{Declared, Header, Label};
pub use read::prototype::{Param, Prototype};
pub use standard::{DefinedBy, Standard, StandardVersion};
pub use table::{FunctionList, ListedFunction, ResultClass};
pub use write::macros::macros_rust;
pub use write::numbering::numbering_rust;
pub use write::parameters::{kinds_rust, parameters_page, parameters_rust};
pub use write::qmpi::qmpi_header;
pub use write::rust::rust;
pub use write::stubs::{fortran_stubs, qmpi_stubs, stubs};
pub use write::tool::{passthrough, qmpi_passthrough, skeleton};
