//! What a tool or an MPI library is, read from its ELF file; and the provider libraries a tool is given.
//!
//! Reading never trusts the file: every offset and size is checked, so that a truncated or hostile
//! library is an [`Error`] and never a panic. The same code runs on the desk (`qmpi inspect`) and
//! inside the MPI process at start-up, so it reads only what the dynamic linker reads as well:
//! header, program headers, dynamic section, dynamic symbols and their versions. Section headers and
//! `.symtab` are never looked at, relocations only where a symbol is undefined.
//!
//! | question | module |
//! |---|---|
//! | what does this one file say? | [`file`](mod@file), [`symbol`], [`version`], `tables`, `string_table` |
//! | where would the dynamic linker find that library? | [`search`], [`ld_cache`] |
//! | which libraries come with it? | [`closure`] |
//! | does this library belong to glibc, to an MPI, and to which? | [`family`], [`abi_family`], [`mpi_data`] |
//! | what kind of tool is it, and what will not work? | [`tool`], `inspection`, [`hazard`], `facts`, `rules` |
//! | does it call this import? | `relocation` |
//! | by which numbers does it mean functions? | [`numbering_note`] |
//! | what is it bound to? | [`provider`], [`name`] |
//! | a copy that needs other libraries | [`duplicate`] |
//!
//! Files are read with positioned reads rather than mapped: a library that is replaced while it is
//! inspected then gives an error instead of a SIGBUS in the MPI process, and no `unsafe` is needed.

pub mod abi_family;
pub mod closure;
pub mod duplicate;
pub mod error;
mod facts;
pub mod family;
pub mod file;
pub mod hazard;
mod image;
mod inspection;
pub mod ld_cache;
pub mod machine;
pub mod mpi_data;
pub mod name;
pub mod numbering_note;
pub mod provider;
mod relocation;
mod rules;
pub mod search;
mod string_table;
mod strings;
pub mod symbol;
mod tables;
pub mod tool;
pub mod version;

pub use abi_family::{MpiAbi, MpiFamily, is_mpi_c_library_file_name, is_mpi_soname};
pub use closure::{Closure, Missing};
pub use error::{Error, FileKind, ObjectKind};
pub use family::{is_dynamic_linker, is_glibc_family, requires_glibc_private};
pub use file::{ElfFile, Tls};
pub use hazard::{Effect, Hazard};
pub use name::{Name, Names};
pub use numbering_note::NumberingNote;
pub use search::SearchPath;
pub use symbol::{Symbol, SymbolKind, Symbols};
pub use tool::{ObjectDetail, Tool, ToolKind, WayDown};
pub use version::Version;
