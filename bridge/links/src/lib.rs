//! What stands between two layers: the addresses that a layer calls to go on, and the stubs behind them.
//!
//! Nothing is written at run time: a stub is machine code of this library, or of a copy that is mapped, with a row of data.
//!
//! | what | file |
//! |---|---|
//! | machine code, and what depends on the processor | `arch.rs`, `arch/` |
//! | where the thread-local variables of stubs are | `thread_offsets.rs` |
//! | stubs that carry data, as many as needed | `blocks.rs`, `trampoline.rs` |
//! | from one calling convention of tools to another | `conversion.rs`, `callback.rs` |
//! | links that are found when they are first called | `lazy.rs` |
//! | Fortran calls | `fortran.rs` |
//! | what a layer passes on, and what it calls for itself | `own_calls.rs` |
//! | a layer that can be switched off | `switch.rs`, `requests.rs` |
//! | a layer that sees some of its calls | `filter.rs` |
//! | `MPI_Pcontrol`, missing functions, functions that are observed | `pcontrol.rs`, `missing.rs`, `observer.rs` |
//! | where wrappers of `dlsym` go on | `look_ups.rs` |

pub mod arch;
pub mod blocks;
pub mod callback;
pub mod conversion;
mod error;
pub mod filter;
pub mod fortran;
pub mod lazy;
pub mod look_ups;
pub mod missing;
pub mod observer;
pub mod own_calls;
pub mod pcontrol;
#[cfg(planted)]
pub mod planted;
pub mod requests;
pub mod switch;
pub mod thread_offsets;
pub mod trampoline;

pub use arch::publish_stubs;
pub use error::{StubError, require_stub};
