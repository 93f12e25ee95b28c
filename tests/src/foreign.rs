//! The other of the two machines that there are builds for.

/// `e_machine` of its files, as far as the first byte tells.
pub const MACHINE: u8 = if cfg!(target_arch = "x86_64") { 183 } else { 62 };

/// What is said of such a file.
pub const SAID: &str = if cfg!(target_arch = "x86_64") { "built for aarch64" } else { "built for x86_64" };
