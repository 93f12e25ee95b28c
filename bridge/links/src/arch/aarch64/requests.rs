//! Stubs in front of functions of the MPI library that start or complete requests: what they are for is in [`crate::requests`].
//!
//! As long as there is nothing to watch for they are a jump. Otherwise the function is called from a frame, with CFI:
//!
//! ```text
//! x29+16  the caller's stack arguments
//! x29+8   x30, the return address
//! x29     saved x29
//! x29-96  Watched: x0 .. x7, what the two functions of Rust tell each other, the payload, the result
//! sp      copy of the stack arguments
//! ```

use std::arch::naked_asm;
use std::mem::offset_of;

use crate::requests::{ACTIVE, COUNT, Watch, Watched, after_completion, after_start, before_completion};

const _: () = assert!(size_of::<Watched>() == 96);

/// Makes the frame, with the payload in it.
macro_rules! enter {
    () => {
        "
        stp x29, x30, [sp, -16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov x29, sp
        .cfi_def_cfa_register x29
        sub sp, sp, 96
        stp x0, x1, [sp]
        stp x2, x3, [sp, 16]
        stp x4, x5, [sp, 32]
        stp x6, x7, [sp, 48]
        str x17, [sp, 72]
        "
    };
}

/// Calls the function with the arguments, and stores its result.
macro_rules! call {
    () => {
        "
        ldur x17, [x29, -24]
        ldr x11, [x17, {words}]
        add x9, x11, 1
        bic x9, x9, 1
        sub sp, sp, x9, lsl 3
        add x12, x29, 16
        cbz x11, 4f
        3:
        sub x11, x11, 1
        ldr x9, [x12, x11, lsl 3]
        str x9, [sp, x11, lsl 3]
        cbnz x11, 3b
        4:
        ldp x0, x1, [x29, -96]
        ldp x2, x3, [x29, -80]
        ldp x4, x5, [x29, -64]
        ldp x6, x7, [x29, -48]
        ldr x16, [x17, {target}]
        blr x16
        stur x0, [x29, -16]
        "
    };
}

/// Returns the result.
macro_rules! leave {
    () => {
        "
        ldur x0, [x29, -16]
        mov sp, x29
        ldp x29, x30, [sp], 16
        .cfi_def_cfa sp, 0
        .cfi_restore x29
        .cfi_restore x30
        ret
        "
    };
}

/// A function that stores a new request ([`Watch`]): watched from the moment when a layer was off for the first time.
#[unsafe(naked)]
pub(crate) extern "C" fn watch_start() {
    naked_asm!(
        ".cfi_startproc",
        "adrp x9, {active}",
        "ldr x9, [x9, :lo12:{active}]",
        "ldr w9, [x9]",
        "cbnz w9, 2f",
        "ldr x16, [x17, {target}]",
        "br x16",
        "2:",
        enter!(),
        call!(),
        "sub x0, x29, 96",
        "bl {after}",
        leave!(),
        ".cfi_endproc",
        active = sym ACTIVE,
        words = const offset_of!(Watch, words),
        target = const offset_of!(Watch, target),
        after = sym after_start,
    )
}

/// A function that completes requests: watched as long as there are some that were started past a layer.
#[unsafe(naked)]
pub(crate) extern "C" fn watch_completion() {
    naked_asm!(
        ".cfi_startproc",
        "adrp x9, {count}",
        "ldr x9, [x9, :lo12:{count}]",
        "cbnz x9, 2f",
        "ldr x16, [x17, {target}]",
        "br x16",
        "2:",
        enter!(),
        "sub x0, x29, 96",
        "bl {before}",
        call!(),
        "sub x0, x29, 96",
        "bl {after}",
        leave!(),
        ".cfi_endproc",
        count = sym COUNT,
        words = const offset_of!(Watch, words),
        target = const offset_of!(Watch, target),
        before = sym before_completion,
        after = sym after_completion,
    )
}

/// The layers that the call which starts a request went past, in this thread.
pub(crate) fn past() -> u64 {
    #![expect(unsafe_code, reason = "a thread-local word")]
    let offset = crate::thread_offsets::PAST.load(std::sync::atomic::Ordering::Relaxed);
    let word = std::ptr::with_exposed_provenance::<u64>(super::thread_pointer().wrapping_add(offset));
    // SAFETY: a word of the thread's own, of the library that is in the process from the start. Stubs write to it.
    unsafe { word.read_volatile() }
}
