//! What stands between two layers: the addresses that a layer calls to go on, and the stubs behind them.
//!
//! Nothing is written at run time: a stub is machine code of this library, or of a copy that is mapped, with a row of data. The text of a
//! feature's machine code is in `arch/<machine>/<feature>.s`, the Rust around it in one file for all machines.
//!
//! From the lowest to the highest: each module uses those above it only.
//!
//! | what | file |
//! |---|---|
//! | what depends on the processor | `arch.rs`, `arch/` |
//! | where the thread-local variables of stubs are | `thread_offsets.rs` |
//! | stubs that carry data, as many as needed | `blocks.rs` |
//! | a word of data for a stub | `trampoline.rs` |
//! | words of the stack that may be arguments | `stack_words.rs` |
//! | links that are found when they are first called: their slots | `lazy_slots.rs` |
//! | the application's return address, where Rust keeps it | `caller.rs` |
//! | stubs between calling conventions of tools | `shift.rs` |
//! | from one calling convention of tools to another | `conversion.rs`, `callback.rs` |
//! | links that are found when they are first called | `lazy.rs` |
//! | functions with large counts, for layers without them | `large_counts.rs`, `large_counts/` |
//! | Fortran calls | `fortran.rs` |
//! | what a layer passes on, and what it calls for itself | `own_calls.rs` |
//! | how an MPI represents handles | `handles.rs` |
//! | a layer that sees some of its calls | `filter.rs` |
//! | which requests a layer has seen | `requests.rs` |
//! | a layer that can be switched off | `switch.rs` |
//! | `MPI_Pcontrol`, missing functions, functions that are observed | `pcontrol.rs`, `missing.rs`, `observer.rs` |
//! | where wrappers of `dlsym` go on | `look_ups.rs` |
//! | defects, in builds for tests of the tests | `planted.rs` |

pub mod arch;
mod blocks;
pub mod callback;
#[cfg(target_arch = "aarch64")]
mod caller;
pub mod conversion;
pub mod filter;
pub mod fortran;
pub mod handles;
#[cfg(test)]
mod in_tests;
pub mod large_counts;
pub mod lazy;
mod lazy_slots;
pub mod look_ups;
pub mod missing;
pub mod observer;
pub mod own_calls;
pub mod pcontrol;
#[cfg(planted)]
pub mod planted;
pub mod requests;
mod shift;
mod stack_words;
pub mod switch;
pub mod thread_offsets;
pub mod trampoline;

pub use arch::publish_stubs;
