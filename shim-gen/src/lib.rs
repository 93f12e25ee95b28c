//! Reads the headers of any MPI and writes what is generated from them.
//!
//! ```text
//! mpi.h ──source──► C text ──prototype──► Prototype ──header──► Header ─┬─passthrough──► a tool in C
//!                                                                       │
//!                  functions.tsv (ids) + standard.txt (versions) ───────┴─table──► functions.tsv ─┬─rust───► table.rs
//!                                                                                                 └─stubs──► list.rs
//! ```
//!
//! The command `shim-gen` is [`cli`] over these modules; other generators can be built on [`Header`] and [`Table`].
#![forbid(unsafe_code)]

pub mod cli;
mod comments;
mod condition;
mod error;
mod fortran;
mod header;
mod passthrough;
mod prototype;
mod rust;
mod source;
mod standard;
mod stubs;
mod table;

pub use error::{Error, Result};
pub use fortran::base_name;
pub use header::{Declared, Header, Label};
pub use passthrough::passthrough;
pub use prototype::{Param, Prototype};
pub use rust::rust;
pub use standard::{Standard, Version};
pub use stubs::stubs;
pub use table::{Origin, ResultKind, Row, Table};
