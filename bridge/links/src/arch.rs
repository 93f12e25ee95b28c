//! Picks the machine code of this architecture: the one place where it is decided.

mod shift;
pub(crate) use shift::*;

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
pub use aarch64::*;

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;

#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
compile_error!("no stubs for this architecture yet: add a file beside arch/x86_64.rs");
