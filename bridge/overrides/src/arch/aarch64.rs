//! What a tool reaches under the name of a function that is overridden, on AArch64.
//!
//! | register | at the entry |
//! |---|---|
//! | `x17` | the answers of the instance, from its trampoline |
//! | `x0 x1 x2` | the arguments, untouched |
//! | `x30` | the caller |

use core::arch::naked_asm;

use crate::{dl_iterate_phdr as iteration, dlsym as lookup, getenv as variables, glibc};

/// `dlsym(handle, name)` and `dlvsym(handle, name, version)` of a tool.
///
/// Asks [`lookup::decide`]; null means that glibc shall answer, with the tool as its caller.
macro_rules! dlsym_shim {
    ($(#[$doc:meta])* $name:ident, $real:path) => {
        $(#[$doc])*
        #[unsafe(naked)]
        pub extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "stp x29, x30, [sp, -48]!",
                ".cfi_def_cfa_offset 48",
                ".cfi_offset x29, -48",
                ".cfi_offset x30, -40",
                "mov x29, sp",
                "stp x0, x1, [sp, 16]",
                "str x2, [sp, 32]",
                "mov x2, x17",
                "mov x3, x30",
                "bl {decide}",
                "mov x9, x0",
                "ldp x0, x1, [sp, 16]",
                "ldr x2, [sp, 32]",
                "ldp x29, x30, [sp], 48",
                ".cfi_def_cfa_offset 0",
                ".cfi_restore x29",
                ".cfi_restore x30",
                "cbz x9, 2f",
                "mov x0, x9",
                "ret",
                "2:",
                "adrp x16, {real}",
                "ldr x16, [x16, :lo12:{real}]",
                "br x16",
                ".cfi_endproc",
                decide = sym lookup::decide,
                real = sym $real,
            )
        }
    };
}
dlsym_shim!(
    /// `dlsym(handle, name)` of a tool.
    dlsym,
    glibc::DLSYM
);
dlsym_shim!(
    /// `dlvsym(handle, name, version)` of a tool.
    dlvsym,
    glibc::DLVSYM
);

/// `dl_iterate_phdr(callback, data)` of a tool.
#[unsafe(naked)]
pub extern "C" fn dl_iterate_phdr() {
    naked_asm!(
        ".cfi_startproc",
        "mov x2, x30",
        "mov x3, x17",
        "b {to}",
        ".cfi_endproc",
        to = sym iteration::of_tool,
    )
}

/// `getenv(name)` of a tool.
#[unsafe(naked)]
pub extern "C" fn getenv() {
    naked_asm!(
        ".cfi_startproc",
        "mov x1, x17",
        "b {to}",
        ".cfi_endproc",
        to = sym variables::overlay,
    )
}

/// `secure_getenv(name)` of a tool.
#[unsafe(naked)]
pub extern "C" fn secure_getenv() {
    naked_asm!(
        ".cfi_startproc",
        "mov x1, x17",
        "b {to}",
        ".cfi_endproc",
        to = sym variables::secure_overlay,
    )
}
