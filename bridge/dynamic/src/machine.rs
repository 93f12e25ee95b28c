//! The machines whose files are read, and the numbers of their relocations.

/// A machine. All are little-endian and have addresses of 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Machine {
    /// x86-64.
    X86_64,
    /// AArch64.
    Aarch64,
}

/// Types of relocations.
#[derive(Debug, Clone, Copy)]
pub struct Relocations {
    /// The address of a symbol, plus the addend.
    pub absolute: u32,
    /// The address of a symbol, in the GOT.
    pub glob_dat: u32,
    /// The address of a function, in a GOT slot of the PLT.
    pub jump_slot: u32,
    /// The number of the object that has a thread-local variable.
    pub module: u32,
    /// Where the variable is among that object's.
    pub offset: u32,
    /// Where it is from the thread pointer.
    pub from_thread: u32,
    /// A descriptor of it, two words.
    pub descriptor: u32,
}

impl Machine {
    /// Both.
    pub const ALL: [Machine; 2] = [Machine::X86_64, Machine::Aarch64];

    /// The one this was built for.
    pub const HOST: Machine = if cfg!(target_arch = "aarch64") { Machine::Aarch64 } else { Machine::X86_64 };

    /// The numbers of its relocations.
    pub const fn relocations(self) -> Relocations {
        match self {
            // R_X86_64_64, GLOB_DAT, JUMP_SLOT, DTPMOD64, DTPOFF64, TPOFF64, TLSDESC (psABI table 4.9).
            Machine::X86_64 => Relocations {
                absolute: 1,
                glob_dat: 6,
                jump_slot: 7,
                module: 16,
                offset: 17,
                from_thread: 18,
                descriptor: 36,
            },
            // R_AARCH64_ABS64, GLOB_DAT, JUMP_SLOT, TLS_DTPMOD, TLS_DTPREL, TLS_TPREL, TLSDESC (ELF for the Arm 64-bit
            // Architecture, 5.7).
            Machine::Aarch64 => Relocations {
                absolute: 257,
                glob_dat: 1025,
                jump_slot: 1026,
                module: 1028,
                offset: 1029,
                from_thread: 1030,
                descriptor: 1031,
            },
        }
    }
}
