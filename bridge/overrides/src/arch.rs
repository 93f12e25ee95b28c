//! What a tool reaches under the name of a function that is overridden. The text for the assembler is in a folder for each machine.
//!
//! The functions are entered by a trampoline of the loader's, which passes the [`Answers`](crate::Answers) of the instance in a register.

use core::arch::naked_asm;

use crate::{dl_iterate_phdr as iteration, dlsym as lookup, getenv as variables, glibc};

#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
compile_error!("no overrides for this architecture yet: add a folder beside arch/x86_64");

/// Defines functions of such a file, with what it refers to.
macro_rules! overrides {
    ($( $name:ident $text:literal $($operand:ident: $place:path),+; )*) => { $(
        #[doc = concat!("`", stringify!($name), "` of a tool.")]
        #[unsafe(naked)]
        pub extern "C" fn $name() {
            naked_asm!(qmpi_ring::assembly!($text), $($operand = sym $place),+)
        }
    )* };
}
overrides! {
    dlsym "dlsym" decide: lookup::decide, real: glibc::DLSYM;
    dlvsym "dlsym" decide: lookup::decide, real: glibc::DLVSYM;
    dl_iterate_phdr "dl_iterate_phdr" to: iteration::of_tool;
    getenv "getenv" to: variables::overlay;
    secure_getenv "getenv" to: variables::secure_overlay;
}
