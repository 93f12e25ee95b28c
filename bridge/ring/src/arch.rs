//! Text for the assembler that both libraries have: a folder for each machine.

#[cfg(target_arch = "aarch64")]
pub mod aarch64 {
    //! Text for the assembler on AArch64.
    pub mod arguments;
}
#[cfg(target_arch = "x86_64")]
mod x86_64 {
    mod arguments;
}
