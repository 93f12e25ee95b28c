//! Reads the headers of any MPI and writes what is generated from them.
//!
//! ```text
//! mpi.h ──source──► C text ──prototype──► Prototype ──header──► Header ─┬─passthrough──► a PMPI tool in C
//!                      │                                                ├─tool──► a QMPI tool in C, or the start of one
//!                      │                                                │
//!                      │           functions.tsv (ids) + standard.txt ──┴─table──► functions.tsv ─┬─rust───► table.rs
//!                      │                                    (versions)                            ├─stubs──► functions/list.rs
//!                      │                                                                          ├─fortran► fortran/src/list.rs
//!                      │                                                                          ├─qmpi───► shifted/list.rs
//!                      ├─macros──► with functions.tsv ─► macros.rs
//!                      ├─ with functions.tsv and data/parameters.txt, parameters ─► parameters.tsv ─► parameters/{kind,table}.rs, docs/parameters.md
//!                      └─numbering──► numbering/*.txt ──┬─ with functions.tsv ─► numbering/tables.rs
//!                                                       └─ with functions.tsv and all headers, availability, qmpi ─► qmpi.h
//! ```
//!
//! The command `shim-gen` is [`cli`] over these modules; other generators can be built on [`Header`] and [`FunctionList`]. It does not use
//! the types of `qmpi-abi`, whose tables it writes: a table that is wrong must not keep its generator from being built.
//!
//! Each module uses those above it only:
//!
//! | module | what it is |
//! |---|---|
//! | [`error`] | what can go wrong, with advice |
//! | [`text`] | text files of one fact a line |
//! | [`standard`], [`fortran`] | what the standard and Fortran say of a function |
//! | `read/` | from `mpi.h` to prototypes |
//! | [`table`], [`numbering`], [`parameters`] | the files that are kept: functions, their numbers in each MPICH, their parameters |
//! | [`availability`] | which `mpi.h` has what |
//! | `write/` | what is generated |
//! | [`manual`], [`cli`] | the command |
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
pub use fortran::base_name;
pub use numbering::{HeaderNumbering, Release, enumerator};
pub use parameters::Parameters;
pub use parameters::row::{ListedParameter, ParameterDirection};
pub use parameters::rules::Rules;
pub use read::header::{Declared, Header, Label};
pub use read::macros::MacroExpression;
pub use read::prototype::{Param, Prototype};
pub use standard::{DefinedBy, Standard, StandardVersion};
pub use table::{FunctionList, ListedFunction, ResultClass};
pub use write::fortran::fortran_stubs;
pub use write::macros::macros_rust;
pub use write::numbering::numbering_rust;
pub use write::parameters::{kinds_rust, parameters_page, parameters_rust};
pub use write::passthrough::passthrough;
pub use write::qmpi::{qmpi_header, qmpi_stubs, shifted_name};
pub use write::rust::rust;
pub use write::stubs::stubs;
pub use write::tool::{qmpi_passthrough, skeleton};
