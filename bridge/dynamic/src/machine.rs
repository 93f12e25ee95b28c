//! The machines whose files are read.

/// A machine. All are little-endian and have addresses of 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Machine {
    /// x86-64.
    X86_64,
    /// AArch64.
    Aarch64,
}

impl Machine {
    /// Both.
    pub const ALL: [Machine; 2] = [Machine::X86_64, Machine::Aarch64];

    /// The one this was built for.
    pub const HOST: Machine = if cfg!(target_arch = "aarch64") { Machine::Aarch64 } else { Machine::X86_64 };
}
