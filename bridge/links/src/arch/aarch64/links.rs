//! Links of the chain that do something on the way: tell, deliver twice, report a missing function.

use std::arch::naked_asm;

use super::stack_words::copy_words;

/// A call of something that did not exist when the tool was loaded; the payload says what.
#[unsafe(naked)]
pub(crate) extern "C" fn missing() {
    naked_asm!(
        ".cfi_startproc",
        qmpi_ring::keep_arguments!(),
        "mov x0, x17",
        "bl {destination}",
        qmpi_ring::go_on_with_arguments!(),
        ".cfi_endproc",
        destination = sym crate::missing::destination,
    )
}

/// A call that a [`crate::observer::Observer`] is told of before it goes on, with all its arguments.
#[unsafe(naked)]
pub(crate) extern "C" fn observer() {
    naked_asm!(
        ".cfi_startproc",
        qmpi_ring::keep_arguments!(),
        "str x17, [x29, 88]",
        // The second argument stays: what is told may read it.
        "ldr x0, [x17, {edge}]",
        "ldr x16, [x17, {notify}]",
        "blr x16",
        "ldr x17, [x29, 88]",
        "ldr x0, [x17, {target}]",
        qmpi_ring::go_on_with_arguments!(),
        ".cfi_endproc",
        edge = const std::mem::offset_of!(crate::observer::Observer, edge),
        notify = const std::mem::offset_of!(crate::observer::Observer, notify),
        target = const std::mem::offset_of!(crate::observer::Observer, target),
    )
}

/// `MPI_Pcontrol(level, ...)` of a tool that does not pass it on: calls the tool, then goes on to the next link.
///
/// The function is variadic, so its arguments are unknown: all that can hold one is kept, eight registers, eight vector registers and twelve
/// words of the stack (AAPCS64 6.8.2: unnamed arguments are passed as named ones), as far as they can be read (`stack_words.rs`).
#[unsafe(naked)]
pub(crate) extern "C" fn pcontrol() {
    naked_asm!(
        ".cfi_startproc",
        qmpi_ring::keep_arguments!(),
        "str x17, [x29, 88]",
        "sub sp, sp, 96",
        copy_words!(12 from 224),
        "ldr x16, [x17, {tool}]",
        "blr x16",
        "ldr x17, [x29, 88]",
        "ldr x0, [x17, {next}]",
        qmpi_ring::go_on_with_arguments!(),
        ".cfi_endproc",
        tool = const std::mem::offset_of!(crate::pcontrol::Delivery, tool),
        next = const std::mem::offset_of!(crate::pcontrol::Delivery, next),
    )
}

/// A callback with one argument of its own, and one from the payload ([`crate::callback::WithData`]).
#[unsafe(naked)]
pub(crate) extern "C" fn with_data() {
    naked_asm!(
        ".cfi_startproc",
        "ldr x1, [x17, {data}]",
        "ldr x16, [x17, {function}]",
        "br x16",
        ".cfi_endproc",
        data = const std::mem::offset_of!(crate::callback::WithData, data),
        function = const std::mem::offset_of!(crate::callback::WithData, function),
    )
}
