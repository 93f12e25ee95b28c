//! What a tool reaches under the name of a function that is overridden. The text for the assembler is in a folder for each machine.
//!
//! The functions are entered by a trampoline of the loader's, which passes the [`Answers`](crate::Answers) of the instance in a register.

use core::arch::naked_asm;

use crate::{dl_iterate_phdr as iteration, dlsym as lookup, getenv as variables, glibc};

#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
compile_error!("no overrides for this architecture yet: add a folder beside arch/x86_64");

/// The text of a file in the folder of this machine.
#[cfg(target_arch = "aarch64")]
macro_rules! text {
    ($file:literal) => {
        include_str!(concat!("arch/aarch64/", $file))
    };
}
#[cfg(target_arch = "x86_64")]
macro_rules! text {
    ($file:literal) => {
        include_str!(concat!("arch/x86_64/", $file))
    };
}

/// Defines functions of such a text, with what it refers to.
macro_rules! overrides {
    ($( $name:ident $text:literal $($operand:ident: $place:path),+; )*) => { $(
        #[doc = concat!("`", stringify!($name), "` of a tool.")]
        #[unsafe(naked)]
        pub extern "C" fn $name() {
            naked_asm!(text!($text), $($operand = sym $place),+)
        }
    )* };
}
overrides! {
    dlsym "dlsym.s" decide: lookup::decide, real: glibc::DLSYM;
    dlvsym "dlsym.s" decide: lookup::decide, real: glibc::DLVSYM;
    dl_iterate_phdr "dl_iterate_phdr.s" to: iteration::of_tool;
    getenv "getenv.s" to: variables::overlay;
    secure_getenv "getenv.s" to: variables::secure_overlay;
}
