//! What `libqmpi.so` and `libqmpi_core.so` share.
//!
//! `libqmpi.so` is preloaded into every process of a job and has neither `std` nor a heap. `libqmpi_core.so` is opened where
//! there is a stack; it loads tools and publishes what calls need. The two are built together and meet here:
//!
//! | what | written by | file |
//! |---|---|---|
//! | slots of the entry stubs, and other words of `libqmpi.so` | the core | [`ring`] |
//! | functions of the core | the core, once | [`core_functions`] |
//! | tables that are replaced as a whole, never freed | the holder of a [`qmpi_dynamic::LinkerLock`] | [`published`] |
//! | lists that only grow, read from signal handlers | the holder of a [`qmpi_dynamic::LinkerLock`] | [`list`] |
//! | the layers as QMPI tools know them | the core | [`tools`], [`next_table`] |
//! | the C structs of the 2018 prototype | the core | [`thesis`] |
//!
//! Text for the assembler that both need is in [`arch`]. Nothing here allocates, locks or panics.
#![cfg_attr(not(test), no_std)]

pub mod arch;
pub mod core_functions;
pub mod list;
pub mod next_table;
pub mod progress;
pub mod published;
pub mod ring;
mod sync;
pub mod thesis;
pub mod tools;

pub use core_functions::{CoreFunctions, Moment};
pub use list::List;
pub use next_table::NextTable;
pub use progress::Progress;
pub use published::Published;
pub use ring::{Glibc, Ring, ThreadOffsets};
pub use tools::{Next, RegisteredTool};
