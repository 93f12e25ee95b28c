//! Machine code for AArch64: stubs behind names of the C library that tools and the program call.
//!
//! | file | what |
//! |---|---|
//! | `dlopen.rs` | `dlopen` of a tool |
//! | `overrides.rs` | a tool's functions for exit handlers and for the environment |
//! | `lock.rs` | the symbol by which `ld.so`'s lock is had |
//! | `thread_local.rs` | thread-local variables of the program |

mod dlopen;
mod lock;
mod overrides;
mod thread_local;

pub(crate) use dlopen::*;
pub(crate) use overrides::*;
pub(crate) use thread_local::*;
