//! Assembler text for stubs that ask Rust where to go: keeps all that can hold an argument across a call.
//!
//! Six registers, eight vector registers and `al` (psABI 3.2.3, 3.5.7), in a frame with CFI:
//!
//! ```text
//! rbp     saved rbp
//! rsp+64  xmm0 .. xmm7
//! rsp     rdi rsi rdx rcx r8 r9 rax
//! ```

/// Text that makes the frame and keeps the arguments; the stack is aligned for a call.
#[macro_export]
macro_rules! keep_arguments {
    () => {
        "
        push rbp
        .cfi_def_cfa_offset 16
        .cfi_offset rbp, -16
        mov rbp, rsp
        .cfi_def_cfa_register rbp
        sub rsp, 192
        mov [rsp], rdi
        mov [rsp + 8], rsi
        mov [rsp + 16], rdx
        mov [rsp + 24], rcx
        mov [rsp + 32], r8
        mov [rsp + 40], r9
        mov [rsp + 48], rax
        movups [rsp + 64], xmm0
        movups [rsp + 80], xmm1
        movups [rsp + 96], xmm2
        movups [rsp + 112], xmm3
        movups [rsp + 128], xmm4
        movups [rsp + 144], xmm5
        movups [rsp + 160], xmm6
        movups [rsp + 176], xmm7
        "
    };
}

/// Text that goes to the address in `rax`, with the arguments that [`keep_arguments`] kept and without its frame.
#[macro_export]
macro_rules! go_on_with_arguments {
    () => {
        "
        mov r11, rax
        movups xmm0, [rsp + 64]
        movups xmm1, [rsp + 80]
        movups xmm2, [rsp + 96]
        movups xmm3, [rsp + 112]
        movups xmm4, [rsp + 128]
        movups xmm5, [rsp + 144]
        movups xmm6, [rsp + 160]
        movups xmm7, [rsp + 176]
        mov rdi, [rsp]
        mov rsi, [rsp + 8]
        mov rdx, [rsp + 16]
        mov rcx, [rsp + 24]
        mov r8, [rsp + 32]
        mov r9, [rsp + 40]
        mov rax, [rsp + 48]
        leave
        .cfi_def_cfa rsp, 8
        jmp r11
        "
    };
}
