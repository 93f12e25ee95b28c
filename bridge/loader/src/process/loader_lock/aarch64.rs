//! The symbol by which `ld.so`'s lock is had: see [`crate::process::loader_lock`].
#![expect(unsafe_code, reason = "an exported symbol of a type that Rust does not know")]

use std::arch::naked_asm;

/// For the linker a function that is chosen at run time: `dlsym` calls it, under its lock, to learn the address.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn qmpi_under_loader_lock() {
    naked_asm!(
        // Rust says @function; of two types the assembler takes this one.
        ".type qmpi_under_loader_lock, @gnu_indirect_function",
        "b {resolve}",
        resolve = sym crate::process::loader_lock::resolve,
    )
}
