//! What depends on the processor: where a signal's context has the registers, and what the kernel needs for a handler.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::{FRAME, PAGE, SHOWN, here, in_context};

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::{FRAME, PAGE, SHOWN, here, in_context};
