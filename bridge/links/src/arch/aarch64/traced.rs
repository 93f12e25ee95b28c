//! The probe that also records the call ([`crate::trace`]): as [`super::probe()`], with a frame that keeps the arguments.
//!
//! ```text
//! x29+16   the caller's stack arguments
//! x29+8    x30, the return address
//! x29      saved x29
//! x29-8    the probe                                      The words from x29-144 up to the return address
//! x29-16   the counter when the call begins               are a Frame of links/trace/record.rs.
//! x29-24   time that callees of the caller took so far
//! x29-32   the layer that calls
//! x29-40   the result
//! x29-48   the thread's recorder
//! x29-56   the call's record
//! x29-64   the generation of its log
//! x29-72   the counter when the call has returned
//! x29-80   the result in d0
//! x29-144  x0 .. x7
//! sp       copies of the stack arguments
//! ```
//!
//! Two functions in Rust are called on the way, outside of the time that is measured. All arguments of MPI functions are words, so no other
//! register has one.

use std::arch::naked_asm;
use std::mem::offset_of;

use qmpi_abi::trace;

use super::probe::{add_time, copy_stack, count_bytes, count_call, keep_registers, probe_function};
use crate::probe::{Probe, Record, Recorder};
use crate::trace::record::{Frame, begin, end};

/// Bytes of the frame below the saved `x29`.
const BELOW: usize = offset_of!(Frame, saved);
const _: () = assert!(BELOW == 144 && offset_of!(Frame, probe) == 136 && offset_of!(Frame, record) == 88);

/// The function of a probe that records.
#[unsafe(naked)]
pub(crate) extern "C" fn traced_probe() {
    probe_function!(
        "144",
        [
            keep_registers!("144"),
            count_call!(),
            "sub x0, x29, 144",
            "bl {begin}",
            "ldur x17, [x29, -8]",
            copy_stack!(),
            "ldur x10, [x29, -56]",
            "cbz x10, 4f",
            "str x9, [x10, {start}]",
            "4:",
            "sub x9, x29, 144",
            "ldp x0, x1, [x9]",
            "ldp x2, x3, [x9, 16]",
            "ldp x4, x5, [x9, 32]",
            "ldp x6, x7, [x9, 48]",
            "ldr x16, [x17, {target}]",
            "blr x16",
            "stur x0, [x29, -40]",
            "stur d0, [x29, -80]",
            "mrs x9, cntvct_el0",
            "stur x9, [x29, -72]",
            add_time!(),
            "ldr x9, [x17, {bytes}]",
            "cbz x9, 5f",
            count_bytes!("144"),
            "ldur x9, [x29, -56]",
            "cbz x9, 6f",
            "sub x0, x29, 144",
            "bl {end}",
            "6:",
            "ldur x0, [x29, -40]",
            "ldur d0, [x29, -80]",
        ]
        start = const offset_of!(trace::Record, start),
        bytes = const offset_of!(Probe, bytes),
        count = sym crate::bytes::count,
        begin = sym begin,
        end = sym end,
    )
}
