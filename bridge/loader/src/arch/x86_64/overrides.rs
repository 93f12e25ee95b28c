//! What a tool reaches under the name of a function of the dynamic linker: see [`crate::overrides`].

use std::arch::naked_asm;

use crate::overrides;

/// `dlsym(handle, name)` and `dlvsym(handle, name, version)` of a tool.
///
/// Asks [`overrides::dlsym::decide`]; null means that glibc shall answer, with the tool as its caller.
macro_rules! dlsym_shim {
    ($name:ident, $real:path) => {
        #[unsafe(naked)]
        pub(crate) extern "C" fn $name() {
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
                decide = sym overrides::dlsym::decide,
                real = sym $real,
            )
        }
    };
}
dlsym_shim!(dlsym, crate::process::dlsym::REAL);
dlsym_shim!(dlvsym, crate::process::dlsym::REAL_VERSIONED);

/// `dlopen(file, mode)` of a tool: [`overrides::dlopen::prepare`] returns both arguments anew.
#[unsafe(naked)]
pub(crate) extern "C" fn dlopen() {
    naked_asm!(
        ".cfi_startproc",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "mov rdx, r11",
        "mov rcx, qword ptr [rsp + 8]",
        "call {prepare}",
        "mov rdi, rax",
        "mov rsi, rdx",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "jmp qword ptr [rip + {real}@GOTPCREL]",
        ".cfi_endproc",
        prepare = sym overrides::dlopen::prepare,
        real = sym libc::dlopen,
    )
}

/// `dl_iterate_phdr(callback, data)` of a tool.
#[unsafe(naked)]
pub(crate) extern "C" fn dl_iterate_phdr() {
    naked_asm!(
        ".cfi_startproc",
        "mov rdx, qword ptr [rsp]",
        "mov rcx, r11",
        "jmp {to}",
        ".cfi_endproc",
        to = sym overrides::dl_iterate_phdr::of_tool,
    )
}

/// `getenv(name)` of a tool.
#[unsafe(naked)]
pub(crate) extern "C" fn getenv() {
    naked_asm!(
        ".cfi_startproc",
        "mov rsi, r11",
        "jmp {to}",
        ".cfi_endproc",
        to = sym overrides::getenv::overlay,
    )
}

/// `secure_getenv(name)` of a tool.
#[unsafe(naked)]
pub(crate) extern "C" fn secure_getenv() {
    naked_asm!(
        ".cfi_startproc",
        "mov rsi, r11",
        "jmp {to}",
        ".cfi_endproc",
        to = sym overrides::getenv::secure_overlay,
    )
}
