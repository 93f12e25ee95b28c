//! The machine code: how a call enters the stack. What the text is for; the text itself is in `arch/`.
//!
//! * `MPI_f`, exported (`functions.rs`): a jump through slot f. A tail jump keeps the application's return address, so the first layer sees the
//!   application as its caller.
//! * Before the slots are filled, each leads to its *lazy stub*, which starts the runtime and then goes on with the call.
//! * `QMPI_f`, exported (`shifted.rs`): a jump by way of a table, whose words are filled in when a function is first called.
//! * `dlsym`, `dlvsym`, exported: may change the handle, then go on with a tail jump, too.
//!
//! All exported stubs of a kind lie in a section of their own, for which one entry of `.eh_frame` is written by hand.
#![expect(unsafe_code, reason = "naked functions")]

use core::arch::{global_asm, naked_asm};

use crate::exports::{dlsym as lookup, shifted};
use qmpi_ring::assembly;

global_asm!(
    qmpi_ring::argument_macros!(),
    assembly!("stubs"),
    count = const qmpi_abi::COUNT,
    fill_slots = sym crate::ring::fill_slots,
    resolve_first_call = sym crate::start::first_call,
    shifted_functions = sym shifted::FUNCTIONS,
    resolve_shifted = sym shifted::resolve,
);

/// `dlsym(handle, name)` of the process: asks [`lookup::decide`], and goes on to glibc's, whose caller is ours.
#[unsafe(naked)]
#[cfg_attr(not(miri), unsafe(no_mangle))] // Miri would take it for its own `dlsym`.
extern "C" fn dlsym() {
    naked_asm!(assembly!("dlsym"), decide = sym lookup::decide)
}

/// `dlvsym(handle, name, version)` of the process, in the same way.
#[unsafe(naked)]
#[unsafe(no_mangle)]
extern "C" fn dlvsym() {
    naked_asm!(assembly!("dlvsym"), decide = sym lookup::decide_version)
}

/// For the linker a function that is chosen at run time: `dlsym` calls it, under `ld.so`'s lock, to learn the address
/// ([`crate::references::opened`]).
#[unsafe(naked)]
#[unsafe(no_mangle)]
extern "C" fn qmpi_with_linker_lock() {
    naked_asm!(assembly!("with_linker_lock"), resolve = sym crate::references::opened::resolve)
}
