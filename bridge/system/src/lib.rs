//! The operating system as `libqmpi_core.so` uses it in the MPI process.
//!
//! | what | file |
//! |---|---|
//! | messages: one line, one `write(2)` | `log.rs` |
//! | clocks, without `std` | `clock.rs` |
//! | how long a file may be | `file_limit.rs` |
//! | values that one thread at a time has | `locked.rs` |
//! | a thread's number | `thread.rs` |

pub mod clock;
pub mod file_limit;
mod locked;
pub mod log;
pub mod thread;

pub use locked::Locked;
