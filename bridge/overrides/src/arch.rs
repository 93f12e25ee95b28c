//! What a tool's references are bound to: picks the machine code of this architecture.
//!
//! The functions are entered by a trampoline of the loader's, which passes the [`Answers`](crate::Answers) of the instance.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
pub use aarch64::*;

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;

#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
compile_error!("no overrides for this architecture yet: add a file beside arch/x86_64.rs");
