//! The functions of an unwinder, as this library needs them: none of them finds a frame.
//!
//! A panic here ends the process where it happens and needs no unwinder, but Rust's `std` refers to one, for the back trace of a panic. The
//! library was therefore linked with libgcc_s, and each rank opened `ld.so.cache` and libgcc_s, though neither the program nor a tool wanted
//! them. With these definitions, which no other object sees, a panic prints its place without a back trace.
#![expect(unsafe_code, reason = "defines symbols that std refers to")]

use std::arch::global_asm;

/// What each of them returns: `_URC_END_OF_STACK` where it is a reason code (Itanium C++ ABI: Exception Handling, 1.6), and as good as any
/// number where it tells of a context, which there is none of.
const END_OF_STACK: u32 = 5;

#[cfg(target_arch = "x86_64")]
macro_rules! instructions {
    (answer) => {
        "mov eax, {end_of_stack}; ret"
    };
    (trap) => {
        "ud2"
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! instructions {
    (answer) => {
        "mov w0, {end_of_stack}; ret"
    };
    (trap) => {
        "brk #1"
    };
}

macro_rules! define {
    ($what:ident: $($name:literal)+) => {
        global_asm!(
            ".pushsection .text.qmpi_unwinding, \"ax\", %progbits",
            $(
                concat!(".globl ", $name),
                concat!(".hidden ", $name),
                concat!(".type ", $name, ", %function"),
                concat!($name, ":"),
            )+
            concat!("/* {end_of_stack} */ ", instructions!($what)),
            ".popsection",
            end_of_stack = const END_OF_STACK,
        );
    };
}

define!(answer:
    "_Unwind_Backtrace"
    "_Unwind_FindEnclosingFunction"
    "_Unwind_GetCFA"
    "_Unwind_GetDataRelBase"
    "_Unwind_GetIP"
    "_Unwind_GetIPInfo"
    "_Unwind_GetLanguageSpecificData"
    "_Unwind_GetRegionStart"
    "_Unwind_GetTextRelBase"
    "_Unwind_RaiseException"
    "_Unwind_SetGR"
    "_Unwind_SetIP"
);

// These never return: nothing here throws.
define!(trap: "_Unwind_DeleteException" "_Unwind_Resume");
