//! The probe that also records the call ([`crate::trace`]): as [`super::probe()`], with a frame that keeps the arguments.
//!
//! ```text
//! rbp+16   the caller's stack arguments
//! rbp+8    return address
//! rbp      saved rbp
//! rbp-8    the probe                                      The words from rbp-128 up to the return address
//! rbp-16   time-stamp counter when the call begins        are a Frame of links/trace/record.rs.
//! rbp-24   time that callees of the caller took so far
//! rbp-32   the layer that calls
//! rbp-40   the result
//! rbp-48   the thread's recorder
//! rbp-56   the call's record
//! rbp-64   the generation of its log
//! rbp-72   time-stamp counter when the call has returned
//! rbp-80   the result in xmm0
//! rbp-128  rdi rsi rdx rcx r8 r9
//! rsp      copies of the stack arguments
//! ```
//!
//! Two functions in Rust are called on the way, outside of the time that is measured. All arguments of MPI functions are words, so no other
//! register has one.

use std::arch::naked_asm;
use std::mem::offset_of;

use qmpi_abi::trace;

use super::probe::{add_time, copy_stack, count_bytes, count_call, probe_function};
use crate::probe::{Probe, Record, Recorder};
use crate::trace::record::{Frame, begin, end};

/// Bytes of the frame below the saved `rbp`.
const BELOW: usize = offset_of!(Frame, saved);
const _: () = assert!(BELOW == 128 && offset_of!(Frame, probe) == 120 && offset_of!(Frame, record) == 72);

/// The function of a probe that records.
#[unsafe(naked)]
pub(crate) extern "C" fn traced_probe() {
    probe_function!(
        "128",
        [
            "mov qword ptr [rbp - 128], rdi",
            "mov qword ptr [rbp - 120], rsi",
            "mov qword ptr [rbp - 112], rdx",
            "mov qword ptr [rbp - 104], rcx",
            "mov qword ptr [rbp - 96], r8",
            "mov qword ptr [rbp - 88], r9",
            count_call!(),
            "lea rdi, [rbp - 128]",
            "call {begin}",
            "mov r11, qword ptr [rbp - 8]",
            copy_stack!(),
            "mov rcx, qword ptr [rbp - 56]",
            "test rcx, rcx",
            "jz 4f",
            "mov qword ptr [rcx + {start}], rax",
            "4:",
            "mov rdi, qword ptr [rbp - 128]",
            "mov rsi, qword ptr [rbp - 120]",
            "mov rdx, qword ptr [rbp - 112]",
            "mov rcx, qword ptr [rbp - 104]",
            "mov r8, qword ptr [rbp - 96]",
            "mov r9, qword ptr [rbp - 88]",
            "call qword ptr [r11 + {target}]",
            // The registers of arguments are free now (psABI 3.2.1).
            "mov qword ptr [rbp - 40], rax",
            "movsd qword ptr [rbp - 80], xmm0",
            "rdtsc",
            "shl rdx, 32",
            "or rax, rdx",
            "mov qword ptr [rbp - 72], rax",
            add_time!(),
            "cmp qword ptr [r11 + {bytes}], 0",
            "je 5f",
            count_bytes!("128"),
            "cmp qword ptr [rbp - 56], 0",
            "je 6f",
            "lea rdi, [rbp - 128]",
            "call {end}",
            "6:",
            "mov rax, qword ptr [rbp - 40]",
            "movsd xmm0, qword ptr [rbp - 80]",
        ]
        start = const offset_of!(trace::Record, start),
        bytes = const offset_of!(Probe, bytes),
        count = sym crate::bytes::count,
        begin = sym begin,
        end = sym end,
    )
}
