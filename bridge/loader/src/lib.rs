//! Loads an unmodified PMPI tool into a private linker namespace and binds it to its next links.
//!
//! | step | file |
//! |---|---|
//! | look at the process: its MPI, what is shared | `process.rs`, `process/`, `image.rs`, `image/` |
//! | look at the tool (with `qmpi-elf`), refuse what cannot work | `load.rs` |
//! | what is known of each tool while it runs | `instance.rs` |
//! | load it into a namespace, with providers for what it shares | `namespace.rs`, `namespace/` |
//! | what the tool must not call bare | `overrides.rs`, `overrides/` |
//! | its wrappers, and the functions that it goes on with | `links.rs`, `links/` |
//! | what stands for tools where the program opens libraries | `stand_ins.rs`, `stand_ins/` |
//! | the end: exit handlers and destructors, layer by layer | `exit.rs`, `exit/` |
//! | machine code, clocks | `arch/`, `clock.rs` |
//! | how long a file may be | `file_limit.rs` |
//!
//! Everything happens at load time. What runs later are jumps (`arch/`), and the overrides (`qmpi-overrides`), which no MPI call meets.

mod arch;
mod clock;
mod error;
pub mod exit;
pub mod file_limit;
pub mod image;
mod instance;
pub mod links;
mod load;
pub mod log;
mod namespace;
mod overrides;
#[cfg(planted)]
pub mod planted;
pub mod process;
pub mod stand_ins;
mod thread;

pub use arch::publish_stubs;
pub use error::LoadError;
pub use instance::{Instance, opened_global};
pub use load::{Links, Loaded, Loader, Made, OfMpi, plan, prepare};
pub use namespace::clone::have_a_namespace as clones_have_a_namespace;
pub use namespace::in_use as namespaces_in_use;
pub use namespace::shared::close_files;
pub use overrides::dl_iterate_phdr_of_base;
pub use overrides::environment::changes_of_process as changes_of_environment;
pub use overrides::environment::expect_view;
pub use process::Process;
