//! Links: the addresses that layers call to go on, and the stubs that stand between two layers.
//!
//! | what | file |
//! |---|---|
//! | the wrappers of a tool | `parts.rs`, `wrappers.rs` |
//! | functions that are not MPI's | `wrapped.rs` |
//! | from one calling convention of tools to another | `conversion.rs`, `callback.rs` |
//! | links that are found when they are first called | `lazy.rs` |
//! | Fortran calls | `fortran.rs` |
//! | what a layer passes on, and what it asks for itself | `own_calls.rs` |
//! | a layer that can be switched off | `switch.rs`, `requests.rs` |
//! | a layer that sees some of its calls | `filter.rs` |
//! | links with a purpose: `MPI_Pcontrol`, missing functions, `MPI_Finalize` | `pcontrol.rs`, `missing.rs`, `observer.rs` |
//! | where wrappers of `dlsym` go on | `look_ups.rs` |
//! | stubs that carry data, as many as needed | `trampoline.rs`, `blocks.rs` |

pub(crate) mod blocks;
pub mod callback;
pub mod conversion;
pub mod filter;
pub mod fortran;
pub mod lazy;
pub(crate) mod look_ups;
pub mod missing;
pub mod observer;
pub(crate) mod own_calls;
pub(crate) mod parts;
pub mod pcontrol;
pub mod requests;
pub mod switch;
pub(crate) mod trampoline;
pub mod wrapped;
pub(crate) mod wrappers;
