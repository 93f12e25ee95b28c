//! Reads the headers of any MPI and writes what is generated from them.
//!
//! ```text
//! mpi.h ──source──► C text ──prototype──► Prototype ──header──► Header ─┬─passthrough──► a PMPI tool in C
//!                      │                                                ├─tool──► a QMPI tool in C, or the start of one
//!                      │                                                │
//!                      │           functions.tsv (ids) + standard.txt ──┴─table──► functions.tsv ─┬─rust───► table.rs
//!                      │                                    (versions)                            ├─stubs──► functions/list.rs
//!                      │                                                                          ├─qmpi───► shifted/list.rs
//!                      └─numbering──► numbering/*.txt ──┬─ with functions.tsv ─► numbering/tables.rs
//!                                                       └─ with functions.tsv and all headers, availability, qmpi ─► qmpi.h
//! ```
//!
//! The command `shim-gen` is [`cli`] over these modules; other generators can be built on [`Header`] and [`Table`].
#![forbid(unsafe_code)]

mod availability;
pub mod cli;
mod comments;
mod condition;
mod error;
mod fortran;
mod header;
mod numbering;
mod origin;
mod passthrough;
mod prototype;
mod qmpi;
mod rust;
mod source;
mod standard;
mod stubs;
mod table;
mod tool;

pub use error::{Error, Result};
pub use fortran::base_name;
pub use header::{Declared, Header, Label};
pub use numbering::{Numbering, Release, enumerator, numbering_rust};
pub use origin::{Origin, Version};
pub use passthrough::passthrough;
pub use prototype::{Param, Prototype};
pub use qmpi::{qmpi_header, qmpi_stubs, shifted_name};
pub use rust::rust;
pub use standard::Standard;
pub use stubs::stubs;
pub use table::{ResultKind, Row, Table};
pub use tool::{qmpi_passthrough, skeleton};
