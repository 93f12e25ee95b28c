//! Loads an unmodified PMPI tool into a private linker namespace and binds it to its next links.
//!
//! | step | file |
//! |---|---|
//! | look at the process: its MPI, what is shared | `process.rs`, `objects.rs`, `image.rs`, `version.rs` |
//! | look at the tool (with `qmpi-elf`), refuse what cannot work | `load.rs` |
//! | what is known of each tool while it runs | `instance.rs` |
//! | write the namespace's head: `PMPI_f` is the next link | `head.rs` |
//! | write providers for shared libraries | `providers.rs`, `shared.rs`, `memory_file.rs` |
//! | `dlmopen` head, providers, tool | `namespace.rs`, `link_map.rs` |
//! | more instances than namespaces | `clone.rs` |
//! | what the tool must not call bare | `overrides/` |
//! | from one calling convention of tools to another | `conversion.rs`, `arch/x86_64/shift.rs` |
//! | Fortran calls | `fortran.rs`, `arch/x86_64/fortran.rs` |
//! | addresses that mean something in Fortran | `sentinels.rs` |
//! | one thread at a time | `loader_lock.rs` |
//! | stubs that carry data, as many as needed | `trampoline.rs`, `blocks.rs`, `arch/` |
//! | links with a purpose: `MPI_Pcontrol`, missing functions, `MPI_Finalize`, counts | `pcontrol.rs`, `missing.rs`, `passage.rs`, `counter.rs` |
//! | its wrappers; their calls of the next link without a detour | `wrappers.rs`, `direct.rs`, `arch/x86_64/direct.rs` |
//! | rebinding of objects in the base namespace, names added to it | `rebind.rs`, `last_resort.rs` |
//!
//! Everything happens at load time. What runs later are jumps (`arch/`), and the overrides, which no MPI call meets.

mod arch;
mod blocks;
pub mod callback;
mod clone;
mod clone_code;
pub mod conversion;
pub mod counter;
mod direct;
pub mod dlsym;
mod error;
pub mod fortran;
mod head;
pub mod image;
mod instance;
pub mod last_resort;
mod link_map;
mod load;
pub mod loader_lock;
pub mod log;
mod memory_file;
pub mod missing;
mod namespace;
pub mod objects;
mod overrides;
pub mod passage;
pub mod pcontrol;
mod process;
mod providers;
pub mod rebind;
pub mod sentinels;
mod shared;
pub mod thread_offsets;
mod trampoline;
pub mod version;
mod wrappers;

pub use clone::have_a_namespace as clones_have_a_namespace;
pub use error::LoadError;
pub use instance::Instance;
pub use load::{Links, Loaded, Place, admit, inspect, load, wanted};
pub use namespace::in_use as namespaces_in_use;
pub use overrides::dl_iterate_phdr_of_base;
pub use process::Process;
pub use shared::close_files;
