//! Text for the assembler: a folder for each machine. Here is what both libraries have, and how a crate names a file of its own.

/// The text of a file, in the folder for this machine of the crate that asks.
#[cfg(target_arch = "aarch64")]
#[macro_export]
macro_rules! assembly {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/arch/aarch64/", $name, ".s"))
    };
}
/// The text of a file, in the folder for this machine of the crate that asks.
#[cfg(target_arch = "x86_64")]
#[macro_export]
macro_rules! assembly {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/arch/x86_64/", $name, ".s"))
    };
}

/// Text that defines `qmpi_keep_arguments` and `qmpi_go_on_with_arguments` as macros of the assembler.
#[macro_export]
macro_rules! argument_macros {
    () => {
        concat!(
            ".macro qmpi_keep_arguments\n",
            $crate::keep_arguments!(),
            "\n.endm\n.macro qmpi_go_on_with_arguments\n",
            $crate::go_on_with_arguments!(),
            "\n.endm\n"
        )
    };
}

#[cfg(target_arch = "aarch64")]
pub mod aarch64 {
    //! Text for the assembler on AArch64.
    pub mod arguments;
}
#[cfg(target_arch = "x86_64")]
mod x86_64 {
    mod arguments;
}
