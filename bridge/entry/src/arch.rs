//! Picks the machine code of this architecture: the one place where it is decided.

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::*;

#[cfg(not(target_arch = "x86_64"))]
compile_error!("no entry stubs for this architecture yet: add a file beside arch/x86_64.rs");
