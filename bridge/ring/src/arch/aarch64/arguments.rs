//! Assembler text for stubs that ask Rust where to go: keeps all that can hold an argument across a call.
//!
//! Eight registers, eight vector registers (AAPCS64 6.8.2), and `x8`, where a large result goes (6.9), in a frame with CFI. It begins with a
//! frame record (6.4.6), so whatever follows frame pointers finds the way through:
//!
//! ```text
//! x29+224  the caller's stack arguments
//! x29+96   q0 .. q7
//! x29+88   a word that is free
//! x29+80   x8
//! x29+16   x0 .. x7
//! x29+8    x30, the return address
//! x29      saved x29
//! ```

/// Text that makes the frame and keeps the arguments. `x9` to `x17` stay as they are.
#[macro_export]
macro_rules! keep_arguments {
    () => {
        "
        stp x29, x30, [sp, -224]!
        .cfi_def_cfa_offset 224
        .cfi_offset x29, -224
        .cfi_offset x30, -216
        mov x29, sp
        .cfi_def_cfa_register x29
        stp x0, x1, [x29, 16]
        stp x2, x3, [x29, 32]
        stp x4, x5, [x29, 48]
        stp x6, x7, [x29, 64]
        str x8, [x29, 80]
        stp q0, q1, [x29, 96]
        stp q2, q3, [x29, 128]
        stp q4, q5, [x29, 160]
        stp q6, q7, [x29, 192]
        "
    };
}

/// Text that takes the frame of [`keep_arguments`] away, with the arguments as they were. `x9` to `x17` stay as they are.
#[macro_export]
macro_rules! restore_arguments {
    () => {
        "
        mov sp, x29
        ldp q0, q1, [sp, 96]
        ldp q2, q3, [sp, 128]
        ldp q4, q5, [sp, 160]
        ldp q6, q7, [sp, 192]
        ldr x8, [sp, 80]
        ldp x0, x1, [sp, 16]
        ldp x2, x3, [sp, 32]
        ldp x4, x5, [sp, 48]
        ldp x6, x7, [sp, 64]
        ldp x29, x30, [sp], 224
        .cfi_def_cfa sp, 0
        .cfi_restore x29
        .cfi_restore x30
        "
    };
}

/// Text that goes to the address in `x0`, with the arguments that [`keep_arguments`] kept and without its frame.
#[macro_export]
macro_rules! go_on_with_arguments {
    () => {
        concat!("\nmov x16, x0\n", $crate::restore_arguments!(), "\nbr x16\n")
    };
}

/// Bytes of the frame: its record lies so far below the stack pointer of the call.
pub const KEPT: usize = 224;
