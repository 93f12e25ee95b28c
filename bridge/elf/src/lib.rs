//! What a tool or an MPI library is, read from its ELF file; and the provider libraries a tool is given.
//!
//! Reading never trusts the file: every offset and size is checked, so that a truncated or hostile
//! library is an [`ElfError`] and never a panic. The same code runs on the desk (`qmpi inspect`) and
//! inside the MPI process at start-up, so it reads only what the dynamic linker reads as well:
//! header, program headers, dynamic section, dynamic symbols and their versions. Section headers and
//! `.symtab` are never looked at, relocations only where a symbol is undefined.
//!
//! Each module uses those above it only.
//!
//! | module | question |
//! |---|---|
//! | [`machine`] | what depends on the processor? |
//! | [`error`] | why can a file not be read? |
//! | [`file`](mod@file) | what does this one file say, and by which numbers does it mean functions? |
//! | [`linker`] | where would the dynamic linker find that library? |
//! | [`mpi`] | does this library belong to an MPI, and to which? |
//! | [`tool`] | what kind of tool is it, which libraries come with it, and what will not work? |
//! | [`write`](mod@write) | what is it bound to, and what does a copy look like? |
//!
//! Files are read with positioned reads rather than mapped: a library that is replaced while it is
//! inspected then gives an error instead of a SIGBUS in the MPI process, and no `unsafe` is needed.

pub mod error;
pub mod file;
pub mod linker;
pub mod machine;
pub mod mpi;
pub mod tool;
pub mod write;

pub use error::{ElfError, ElfErrorReason, FileKind, ObjectKind};
pub use file::name::{Name, Names};
pub use file::numbering_note::NumberingNote;
pub use file::symbol::{NamedSymbol, NeededVersion};
pub use file::{ElfFile, Tls};
pub use linker::family::{is_dynamic_linker, is_glibc_family, is_language_runtime, requires_glibc_private};
pub use linker::search::SearchPath;
pub use mpi::abi_family::{MpiAbi, is_mpi_c_library_file_name, is_mpi_soname};
pub use qmpi_dynamic::{Machine, SymbolKind};
pub use tool::closure::{Closure, Missing};
pub use tool::hazard::{Effect, Hazard};
pub use tool::{NextFunction, ObjectDetail, Tool, ToolKind};
