//! The probe: a link that measures the call through it ([`crate::probe::Probe`]).
//!
//! A call has to be seen at its end, too, so a probe makes a frame, which other links do not: a function behind it sees a return address in
//! the probe, and an unwinder one frame more, for which there is CFI. Words that the caller passes on the stack are copied.
//!
//! ```text
//! rbp+16  the caller's stack arguments
//! rbp+8   return address
//! rbp     saved rbp
//! rbp-8   the probe
//! rbp-16  time-stamp counter when the call begins
//! rbp-24  time that callees of the caller took so far
//! rbp-32  the layer that calls
//! rbp-40  third argument, later the result
//! rbp-48  the thread's recorder
//! rsp     copies of the stack arguments
//! ```
//!
//! What [`super::traced_probe()`] does as well is in macros; its frame has these words in the same places. So has that of [`bytes_probe`], which
//! keeps the arguments below, for what is done with them when the call has returned.
//!
//! Nothing is locked: the recorder is the thread's own. A handler of a signal that calls MPI in between finds words that are right, as each is
//! changed by one instruction. A call that is left by an exception, `longjmp` or the end of its thread is not counted as done; what is on the stack
//! above it counts on from its own frame.

use std::arch::naked_asm;
use std::mem::offset_of;

use crate::probe::{Probe, Record, Recorder};

/// Notes who calls, and that this layer is called now. `r10`: the thread's recorder, then the link's record; `r11`: the probe.
macro_rules! count_call {
    () => {
        "
        mov rax, qword ptr [r10 + {inner_time}]
        mov qword ptr [rbp - 24], rax
        mov qword ptr [r10 + {inner_time}], 0
        mov rax, qword ptr [r10 + {layer}]
        mov qword ptr [rbp - 32], rax
        mov rdx, qword ptr [r11 + {of_layer}]
        mov qword ptr [r10 + {layer}], rdx
        add r10, qword ptr [r11 + {place}]
        inc qword ptr [r10 + 8 * rax + {callers}]
        "
    };
}
pub(super) use count_call;

/// Copies the words that are passed on the stack, to an even number of places, and reads when the call begins. `r11`: the probe.
macro_rules! copy_stack {
    () => {
        "
        mov rdx, qword ptr [r11 + {stack_words}]
        test rdx, rdx
        jz 3f
        lea rax, [8 * rdx + 8]
        and rax, -16
        sub rsp, rax
        2:
        mov rax, qword ptr [rbp + 8 * rdx + 8]
        mov qword ptr [rsp + 8 * rdx - 8], rax
        dec rdx
        jnz 2b
        3:
        rdtsc
        shl rdx, 32
        or rax, rdx
        mov qword ptr [rbp - 16], rax
        "
    };
}
pub(super) use copy_stack;

/// Adds the time of the call to the record, and takes the callees' off. `rax`: when it has returned.
macro_rules! add_time {
    () => {
        "
        mov r10, qword ptr [rbp - 48]
        mov qword ptr [r10 + {last}], rax
        sub rax, qword ptr [rbp - 16]
        mov r11, qword ptr [rbp - 8]
        mov rcx, qword ptr [r10 + {inner_time}]
        mov rdx, qword ptr [rbp - 24]
        add rdx, rax
        add rdx, qword ptr [r11 + {outside}]
        mov qword ptr [r10 + {inner_time}], rdx
        mov rdx, qword ptr [rbp - 32]
        mov qword ptr [r10 + {layer}], rdx
        add r10, qword ptr [r11 + {place}]
        add qword ptr [r10 + {inclusive}], rax
        mov rdx, rax
        sub rdx, rcx
        add qword ptr [r10 + {own}], rdx
        cmp qword ptr [r10 + {longest}], rax
        jae 4f
        mov qword ptr [r10 + {longest}], rax
        4:
        or rax, 1
        bsr rax, rax
        inc dword ptr [r10 + 4 * rax + {histogram}]
        "
    };
}
pub(super) use add_time;

/// Counts the bytes of a call that has succeeded. `r11`: the probe; `arguments`: where the frame has the six registers.
macro_rules! count_bytes {
    ($arguments:literal) => {
        concat!(
            "
            cmp dword ptr [rbp - 40], 0
            jne 5f
            mov rdi, r11
            lea rsi, [rbp - ",
            $arguments,
            "]
            lea rdx, [rbp + 16]
            mov rcx, qword ptr [rbp - 48]
            mov r8, qword ptr [rbp - 32]
            call {count}
            5:
            "
        )
    };
}
pub(super) use count_bytes;

/// Where a probe comes whose thread or function has no records yet: they are made, and the call comes again.
macro_rules! first_call {
    () => {
        concat!(
            qmpi_ring::keep_arguments!(),
            "
            mov rdi, r11
            call {first_call}
            ",
            qmpi_ring::go_on_with_arguments!()
        )
    };
}

/// The function of a probe: its frame of so many bytes, which keeps the probe and the recorder, the lines in between, and the way out. `rax` has
/// the result behind them; further operands of theirs follow.
macro_rules! probe_function {
    ($frame:literal, [$($line:expr,)*] $($operands:tt)*) => {
        naked_asm!(
            ".cfi_startproc",
            "mov r10, qword ptr [rip + {recorder}]",
            "mov r10, qword ptr fs:[r10]",
            "test r10, r10",
            "jz 9f",
            "push rbp",
            ".cfi_def_cfa_offset 16",
            ".cfi_offset rbp, -16",
            "mov rbp, rsp",
            ".cfi_def_cfa_register rbp",
            concat!("sub rsp, ", $frame),
            "mov qword ptr [rbp - 8], r11",
            "mov qword ptr [rbp - 48], r10",
            $($line,)*
            ".cfi_remember_state",
            "leave",
            ".cfi_def_cfa rsp, 8",
            "ret",
            ".cfi_restore_state",
            // The thread's first call.
            ".cfi_def_cfa rsp, 8",
            "9:",
            $crate::arch::x86_64::probe::first_call!(),
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
            "mov qword ptr [rbp - 40], rdx",
            count_call!(),
            copy_stack!(),
            "mov rdx, qword ptr [rbp - 40]",
            "call qword ptr [r11 + {target}]",
            // The registers of arguments are free now (psABI 3.2.1).
            "mov qword ptr [rbp - 40], rax",
            "rdtsc",
            "shl rdx, 32",
            "or rax, rdx",
            add_time!(),
            "mov rax, qword ptr [rbp - 40]",
        ]
    )
}

/// The function of a probe that counts bytes.
#[unsafe(naked)]
pub(crate) extern "C" fn bytes_probe() {
    probe_function!(
        "96",
        [
            "mov qword ptr [rbp - 96], rdi",
            "mov qword ptr [rbp - 88], rsi",
            "mov qword ptr [rbp - 80], rdx",
            "mov qword ptr [rbp - 72], rcx",
            "mov qword ptr [rbp - 64], r8",
            "mov qword ptr [rbp - 56], r9",
            count_call!(),
            copy_stack!(),
            "mov rdx, qword ptr [rbp - 80]",
            "call qword ptr [r11 + {target}]",
            "mov qword ptr [rbp - 40], rax",
            "rdtsc",
            "shl rdx, 32",
            "or rax, rdx",
            add_time!(),
            count_bytes!("96"),
            "mov rax, qword ptr [rbp - 40]",
        ]
        count = sym crate::bytes::count,
    )
}

/// Sets the thread's recorder, a variable at this offset from the thread pointer.
pub(crate) fn set_recorder(offset: usize, recorder: usize) {
    #![expect(unsafe_code, reason = "a thread-local variable of another library")]
    // SAFETY: a word of the thread's own that only this module writes to.
    unsafe { std::arch::asm!("mov qword ptr fs:[{}], {}", in(reg) offset, in(reg) recorder, options(nostack)) };
}

/// The thread's recorder, a variable at this offset from the thread pointer; 0: it has none yet.
pub(crate) fn recorder(offset: usize) -> usize {
    #![expect(unsafe_code, reason = "a thread-local variable of another library")]
    let recorder;
    // SAFETY: a word of the thread's own.
    unsafe {
        std::arch::asm!("mov {}, qword ptr fs:[{}]", out(reg) recorder, in(reg) offset, options(nostack, readonly))
    };
    recorder
}

/// The time-stamp counter.
pub(crate) fn ticks() -> u64 {
    #![expect(unsafe_code, reason = "an instruction")]
    // SAFETY: every x86-64 processor has it, and Linux lets programs use it.
    unsafe { std::arch::x86_64::_rdtsc() }
}
