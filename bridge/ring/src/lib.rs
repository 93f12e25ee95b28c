//! What `libqmpi.so` and `libqmpi_core.so` share.
//!
//! `libqmpi.so` is preloaded into every process of a job and has neither `std` nor a heap. `libqmpi_core.so` is opened where
//! there is a stack; it loads tools and publishes what calls need. The two are built together and meet here:
//!
//! | what | written by | file |
//! |---|---|---|
//! | atomics; where all interleavings of threads are tried, loom's take their place | | `sync` |
//! | text for the assembler that both need | | [`arch`] |
//! | tables that are replaced as a whole, never freed | the holder of a [`qmpi_dynamic::LinkerLock`] | [`published`] |
//! | lists that only grow, read from signal handlers | the holder of a [`qmpi_dynamic::LinkerLock`] | [`list`] |
//! | how far something has come that happens once | the holder of a [`qmpi_dynamic::LinkerLock`] | [`progress`] |
//! | the layers as QMPI tools know them | the core | [`tools`], [`next_table`] |
//! | the C structs of the 2018 prototype | the core | [`thesis`] |
//! | slots of the entry stubs, and other words of `libqmpi.so` | the core | [`ring`] |
//! | functions of the core | the core, once | [`core_functions`] |
//! | an environment, read without the C library | | [`environment`] |
//! | thread-local variables of stubs | the stubs | `thread_storage` |
//! | the end of a process, in one line; `libqmpi_fortran.so` has it as well | | [`message`] |
//!
//! Nothing here allocates, locks or panics.
#![cfg_attr(not(test), no_std)]

pub mod arch;
pub mod core_functions;
pub mod environment;
pub mod list;
pub mod message;
pub mod next_table;
pub mod progress;
pub mod published;
pub mod ring;
mod sync;
pub mod thesis;
mod thread_storage;
pub mod tools;

pub use core_functions::{CoreFunctions, Moment};
pub use list::List;
pub use next_table::NextTable;
pub use progress::Progress;
pub use published::Published;
pub use ring::{Glibc, Ring, ThreadOffsets};
pub use thread_storage::thread_offsets;
pub use tools::{Next, RegisteredTool};
