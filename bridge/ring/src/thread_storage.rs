//! Thread-local variables that stubs between layers use, found by their offsets from the thread pointer (`arch/thread_storage.s`).
//!
//! The library that is in the process from the start has them, so that they take nothing of the static TLS that `ld.so` keeps for libraries
//! that are opened later. A library that does not call [`thread_offsets`] has none: the linker drops their sections.
#![expect(unsafe_code, reason = "text for the assembler")]

use core::arch::{global_asm, naked_asm};
use core::mem::offset_of;

use crate::ring::{CALLER_DEPTH, CALLER_RECORD, OWN_DEPTH, OWN_RECORD, ThreadOffsets};

global_asm!(
    include_str!("arch/thread_storage.s"),
    caller = const 8 + CALLER_RECORD * CALLER_DEPTH,
    own = const OWN_RECORD * (1 + OWN_DEPTH),
);

/// The offsets of the variables of the library that this crate is linked into.
#[unsafe(naked)]
pub extern "C" fn thread_offsets() -> ThreadOffsets {
    naked_asm!(
        crate::assembly!("thread_offsets"),
        caller = const offset_of!(ThreadOffsets, caller),
        fortran_level = const offset_of!(ThreadOffsets, fortran_level),
        own_calls = const offset_of!(ThreadOffsets, own_calls),
        past = const offset_of!(ThreadOffsets, past),
    )
}
