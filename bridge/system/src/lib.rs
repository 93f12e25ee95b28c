//! The operating system as `libqmpi_core.so` uses it in the MPI process.
//!
//! | what | file |
//! |---|---|
//! | messages: one line, one `write(2)` | `log.rs` |
//! | `errno` of the program, which stays as it was | `errno.rs` |
//! | clocks, without `std` | `clock.rs` |
//! | how long a file may be | `file_limit.rs` |
//! | a thread's number | `thread.rs` |
//! | a child by `fork` | `fork.rs` |

pub mod clock;
pub mod errno;
pub mod file_limit;
pub mod fork;
pub mod log;
pub mod thread;
