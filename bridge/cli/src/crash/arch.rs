//! What depends on the processor: the command runs on that of the process.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
pub(super) use aarch64::{RECORD_MAY_BE_OUTER, VENDOR, code, ends_call, from_nowhere, interrupted, of_leaf};

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub(super) use x86_64::{RECORD_MAY_BE_OUTER, VENDOR, code, ends_call, from_nowhere, interrupted, of_leaf};
