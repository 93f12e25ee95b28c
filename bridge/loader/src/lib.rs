//! Loads an unmodified PMPI tool into a private linker namespace and binds it to its next functions.
//!
//! Each module uses those above it only.
//!
//! | module | what |
//! |---|---|
//! | `error` | why a layer could not be loaded |
//! | `link_map` | glibc's list of loaded objects |
//! | `image` | the tables of a mapped object: its symbols and versions, references that are bound anew |
//! | `memory_file` | files in memory, which `ld.so` loads |
//! | `process` | the process: its MPI, what tools share with it, `ld.so`'s lock |
//! | `end` | what one instance has to do at the end |
//! | `instance` | what is known of each tool while it runs |
//! | `namespace` | private namespaces and the providers in them |
//! | `exit` | the end of the process: exit handlers and destructors, layer by layer |
//! | `overrides` | functions of the C library that a tool must not call bare, and what it gets instead |
//! | `stand_ins` | what stands for tools where the program opens libraries |
//! | `wrappers` | where the wrappers of a tool are |
//! | `load` | loads one tool, as a layer with a namespace of its own or as a clone: uses all of the above |
//!
//! Everything happens at load time. What runs later are stubs (`qmpi-links`), and the overrides, which no MPI call meets.

mod end;
mod error;
pub mod exit;
pub mod image;
mod instance;
mod link_map;
mod load;
mod memory_file;
mod namespace;
mod overrides;
pub mod process;
pub mod stand_ins;
pub mod wrappers;

pub use error::LoadError;
pub use instance::{Instance, opened_global};
pub use load::clone::have_a_namespace as clones_have_a_namespace;
pub use load::{Links, Loaded, Loader, plan, prepare};
pub use namespace::in_use as namespaces_in_use;
pub use namespace::providers::close_files;
pub use overrides::environment::changes_of_process as changes_of_environment;
pub use overrides::environment::expect_view;
pub use overrides::{dl_iterate_phdr_of_base, look_ups};
pub use process::Process;
