//! The probe: a link that measures the call through it ([`crate::probe::Probe`]).
//!
//! A call has to be seen at its end, too, so a probe makes a frame, which other links do not: a function behind it sees a return address in
//! the probe, and an unwinder one frame more, for which there is CFI. Words that the caller passes on the stack are copied.
//!
//! ```text
//! x29+16  the caller's stack arguments
//! x29+8   x30, the return address
//! x29     saved x29
//! x29-8   the probe
//! x29-16  the counter when the call begins
//! x29-24  time that callees of the caller took so far
//! x29-32  the layer that calls
//! x29-40  the result
//! x29-48  the thread's recorder
//! sp      copies of the stack arguments
//! ```
//!
//! What [`super::traced_probe()`] does as well is in macros; its frame has these words in the same places. So has that of [`bytes_probe`], which
//! keeps the arguments below, for what is done with them when the call has returned.
//!
//! Nothing is locked: the recorder is the thread's own. A handler of a signal that calls MPI may come in between: numbers of calls are added to by
//! an exclusive pair, which then fails and is done again; a sum of times may be short of the handler's call, as an addition to a word of memory
//! is three instructions before Armv8.1. A call that is left by an exception, `longjmp` or the end of its thread is
//! not counted as done; what is on the stack above it counts on from its own frame.
//!
//! The time is that of the generic timer (`cntvct_el0`), which Linux lets programs read.

use std::arch::naked_asm;
use std::mem::offset_of;

use crate::probe::{Probe, Record, Recorder};

/// Notes who calls, and that this layer is called now. `x16`: the thread's recorder; `x17`: the probe; `x10`: the record's place.
macro_rules! count_call {
    () => {
        "
        ldr x9, [x16, {inner_time}]
        stur x9, [x29, -24]
        str xzr, [x16, {inner_time}]
        ldr x9, [x16, {layer}]
        stur x9, [x29, -32]
        ldr x11, [x17, {of_layer}]
        str x11, [x16, {layer}]
        add x10, x16, x10
        add x10, x10, x9, lsl 3
        add x10, x10, {callers}
        2:
        ldxr x11, [x10]
        add x11, x11, 1
        stxr w9, x11, [x10]
        cbnz w9, 2b
        "
    };
}
pub(super) use count_call;

/// Copies the words that are passed on the stack, to an even number of places, and reads when the call begins. `x17`: the probe.
macro_rules! copy_stack {
    () => {
        "
        ldr x11, [x17, {stack_words}]
        cbz x11, 3f
        add x9, x11, 1
        bic x9, x9, 1
        sub sp, sp, x9, lsl 3
        add x12, x29, 16
        2:
        sub x11, x11, 1
        ldr x9, [x12, x11, lsl 3]
        str x9, [sp, x11, lsl 3]
        cbnz x11, 2b
        3:
        mrs x9, cntvct_el0
        stur x9, [x29, -16]
        "
    };
}
pub(super) use copy_stack;

/// Adds the time of the call to the record, and takes the callees' off. `x9`: when it has returned.
macro_rules! add_time {
    () => {
        "
        ldur x16, [x29, -48]
        str x9, [x16, {last}]
        ldur x10, [x29, -16]
        sub x9, x9, x10
        ldur x17, [x29, -8]
        ldr x11, [x16, {inner_time}]
        ldur x12, [x29, -24]
        add x12, x12, x9
        ldr x13, [x17, {outside}]
        add x12, x12, x13
        str x12, [x16, {inner_time}]
        ldur x12, [x29, -32]
        str x12, [x16, {layer}]
        ldr x12, [x17, {place}]
        add x16, x16, x12
        ldr x12, [x16, {inclusive}]
        add x12, x12, x9
        str x12, [x16, {inclusive}]
        sub x12, x9, x11
        ldr x13, [x16, {own}]
        add x13, x13, x12
        str x13, [x16, {own}]
        ldr x12, [x16, {longest}]
        cmp x12, x9
        b.hs 4f
        str x9, [x16, {longest}]
        4:
        orr x9, x9, 1
        clz x9, x9
        eor x9, x9, 63
        add x16, x16, x9, lsl 2
        add x16, x16, {histogram}
        2:
        ldxr w12, [x16]
        add w12, w12, 1
        stxr w11, w12, [x16]
        cbnz w11, 2b
        "
    };
}
pub(super) use add_time;

/// Counts the bytes of a call that has succeeded. `x17`: the probe; `arguments`: where the frame has the eight registers.
macro_rules! count_bytes {
    ($arguments:literal) => {
        concat!(
            "
            ldur w9, [x29, -40]
            cbnz w9, 5f
            mov x0, x17
            sub x1, x29, ",
            $arguments,
            "
            add x2, x29, 16
            ldur x3, [x29, -48]
            ldur x4, [x29, -32]
            bl {count}
            5:
            "
        )
    };
}
pub(super) use count_bytes;

/// Keeps the registers of arguments in the frame, `$arguments` bytes below `x29`.
macro_rules! keep_registers {
    ($arguments:literal) => {
        concat!(
            "
            sub x9, x29, ",
            $arguments,
            "
            stp x0, x1, [x9]
            stp x2, x3, [x9, 16]
            stp x4, x5, [x9, 32]
            stp x6, x7, [x9, 48]
            "
        )
    };
}
pub(super) use keep_registers;

/// Where a probe comes whose thread or function has no records yet: they are made, and the call comes again.
macro_rules! first_call {
    () => {
        concat!(
            qmpi_ring::keep_arguments!(),
            "
            mov x0, x17
            bl {first_call}
            ",
            qmpi_ring::go_on_with_arguments!()
        )
    };
}

/// The function of a probe: its frame of so many bytes, which keeps the probe and the recorder, the lines in between, and the way out. `x0` has
/// the result behind them; further operands of theirs follow.
///
/// The place of the records is looked at as well: a thread may see the probe before it sees the place (docs/maintainers/decisions/aarch64.md).
macro_rules! probe_function {
    ($frame:literal, [$($line:expr,)*] $($operands:tt)*) => {
        naked_asm!(
            ".cfi_startproc",
            "adrp x16, {recorder}",
            "ldr x16, [x16, :lo12:{recorder}]",
            "mrs x9, tpidr_el0",
            "ldr x16, [x9, x16]",
            "cbz x16, 9f",
            "ldr x10, [x17, {place}]",
            "cbz x10, 9f",
            "stp x29, x30, [sp, -16]!",
            ".cfi_def_cfa_offset 16",
            ".cfi_offset x29, -16",
            ".cfi_offset x30, -8",
            "mov x29, sp",
            ".cfi_def_cfa_register x29",
            concat!("sub sp, sp, ", $frame),
            "stur x17, [x29, -8]",
            "stur x16, [x29, -48]",
            $($line,)*
            "mov sp, x29",
            "ldp x29, x30, [sp], 16",
            ".cfi_def_cfa sp, 0",
            ".cfi_restore x29",
            ".cfi_restore x30",
            "ret",
            // The thread's first call.
            "9:",
            $crate::arch::aarch64::probe::first_call!(),
            ".cfi_endproc",
            recorder = sym $crate::thread_offsets::RECORDER,
            last = const offset_of!(Recorder, region.last),
            inner_time = const offset_of!(Recorder, inner_time),
            layer = const offset_of!(Recorder, layer),
            of_layer = const offset_of!(Probe, layer),
            place = const offset_of!(Probe, place),
            stack_words = const offset_of!(Probe, stack_words),
            target = const offset_of!(Probe, target),
            callers = const size_of::<Record>(),
            inclusive = const offset_of!(Record, inclusive),
            own = const offset_of!(Record, own),
            longest = const offset_of!(Record, longest),
            histogram = const offset_of!(Record, histogram),
            outside = const offset_of!(Probe, outside),
            first_call = sym $crate::probe::first_call,
            $($operands)*
        )
    };
}
pub(super) use {first_call, probe_function};

/// The function of a probe that has no place for its records yet: it gets one, and comes again.
#[unsafe(naked)]
pub(crate) extern "C" fn unplaced_probe() {
    naked_asm!(
        ".cfi_startproc",
        first_call!(),
        ".cfi_endproc",
        first_call = sym crate::probe::first_call,
    )
}

/// The function of a probe.
#[unsafe(naked)]
pub(crate) extern "C" fn probe() {
    probe_function!(
        "48",
        [
            count_call!(),
            copy_stack!(),
            "ldr x16, [x17, {target}]",
            "blr x16",
            "stur x0, [x29, -40]",
            "mrs x9, cntvct_el0",
            add_time!(),
            "ldur x0, [x29, -40]",
        ]
    )
}

/// The function of a probe that counts bytes.
#[unsafe(naked)]
pub(crate) extern "C" fn bytes_probe() {
    probe_function!(
        "112",
        [
            keep_registers!("112"),
            count_call!(),
            copy_stack!(),
            "ldr x16, [x17, {target}]",
            "blr x16",
            "stur x0, [x29, -40]",
            "mrs x9, cntvct_el0",
            add_time!(),
            count_bytes!("112"),
            "ldur x0, [x29, -40]",
        ]
        count = sym crate::bytes::count,
    )
}

/// Sets the thread's recorder, a variable at this offset from the thread pointer.
pub(crate) fn set_recorder(offset: usize, recorder: usize) {
    #![expect(unsafe_code, reason = "a thread-local variable of another library")]
    let word = std::ptr::with_exposed_provenance_mut::<usize>(super::thread_pointer().wrapping_add(offset));
    // SAFETY: a word of the thread's own that only this module writes to. Stubs read it.
    unsafe { word.write_volatile(recorder) };
}

/// The thread's recorder, a variable at this offset from the thread pointer; 0: it has none yet.
pub(crate) fn recorder(offset: usize) -> usize {
    #![expect(unsafe_code, reason = "a thread-local variable of another library")]
    let word = std::ptr::with_exposed_provenance::<usize>(super::thread_pointer().wrapping_add(offset));
    // SAFETY: a word of the thread's own.
    unsafe { word.read_volatile() }
}

/// The generic timer.
pub(crate) fn ticks() -> u64 {
    #![expect(unsafe_code, reason = "an instruction")]
    let ticks;
    // SAFETY: every processor of this architecture has it, and Linux lets programs use it.
    unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nostack, nomem, preserves_flags)) };
    ticks
}
