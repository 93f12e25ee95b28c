//! MPIR process acquisition: how debuggers find all processes of a job.
//!
//! As a *starter* (`qmpi run --mpir`), the command stays the parent of the launcher and has the symbols that a debugger looks for. Each rank
//! tells of itself (`libqmpi.so`, its file `mpir.rs`), and waits if a debugger is there. As a *consumer* (`qmpi ps`, `qmpi attach`), it reads
//! the table out of a running launcher.
//!
//! | what | file |
//! |---|---|
//! | the symbols of the interface | `symbols.rs`; their types for debuggers: `build.rs` of the command |
//! | the launcher, and the loop over all that happens | `starter.rs` |
//! | its signals, and how it ends | `child.rs` |
//! | where ranks report | `listener.rs`, `hosts.rs` |
//! | which process is which rank | `table.rs` |
//! | the table of another process | `target.rs` |
//! | processes of a job, and their layers | `process.rs` |
//! | outputs that ranks share, as a tree where they are back traces | `outputs.rs`, `backtrace.rs` |

pub mod backtrace;
pub mod child;
pub mod hosts;
pub mod listener;
pub mod outputs;
pub mod process;
pub mod starter;
pub mod symbols;
pub mod table;
pub mod target;
