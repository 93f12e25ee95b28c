//! What a tool reaches under the name of a function that is overridden, on x86-64.
//!
//! | register | at the entry |
//! |---|---|
//! | `r11` | the answers of the instance, from its trampoline |
//! | `rdi rsi rdx`, stack | the arguments, untouched |
//! | `[rsp]` | the caller |

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
                "push rdi",
                ".cfi_adjust_cfa_offset 8",
                "push rsi",
                ".cfi_adjust_cfa_offset 8",
                "push rdx",
                ".cfi_adjust_cfa_offset 8",
                "mov rdx, r11",
                "mov rcx, qword ptr [rsp + 24]",
                "call {decide}",
                "pop rdx",
                ".cfi_adjust_cfa_offset -8",
                "pop rsi",
                ".cfi_adjust_cfa_offset -8",
                "pop rdi",
                ".cfi_adjust_cfa_offset -8",
                "test rax, rax",
                "jz 2f",
                "ret",
                "2:",
                "jmp qword ptr [rip + {real}]",
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
        "mov rdx, qword ptr [rsp]",
        "mov rcx, r11",
        "jmp {to}",
        ".cfi_endproc",
        to = sym iteration::of_tool,
    )
}

/// `getenv(name)` of a tool.
#[unsafe(naked)]
pub extern "C" fn getenv() {
    naked_asm!(
        ".cfi_startproc",
        "mov rsi, r11",
        "jmp {to}",
        ".cfi_endproc",
        to = sym variables::overlay,
    )
}

/// `secure_getenv(name)` of a tool.
#[unsafe(naked)]
pub extern "C" fn secure_getenv() {
    naked_asm!(
        ".cfi_startproc",
        "mov rsi, r11",
        "jmp {to}",
        ".cfi_endproc",
        to = sym variables::secure_overlay,
    )
}
