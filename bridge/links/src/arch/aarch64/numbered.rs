//! A function of a QMPI tool with the id that goes with it: one word can be put in place of another at once, two cannot.
#![expect(unsafe_code, reason = "machine code")]

use super::trampoline::{Stub, stub};

/// What the stub is given.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Numbered {
    /// The tool's function.
    pub(crate) target: usize,
    /// The id to pass, in place of the caller's.
    pub(crate) tool: i32,
}

/// The function, called with its id: see [`Numbered`].
pub(crate) fn numbered() -> Stub {
    stub(qmpi_numbered)
}

/// `w1` is the second argument (AAPCS64 6.8.2), `x17` the payload.
#[unsafe(naked)]
unsafe extern "C" fn qmpi_numbered() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "ldr w1, [x17, {tool}]",
        "ldr x16, [x17, {target}]",
        "br x16",
        ".cfi_endproc",
        target = const std::mem::offset_of!(Numbered, target),
        tool = const std::mem::offset_of!(Numbered, tool),
    )
}
