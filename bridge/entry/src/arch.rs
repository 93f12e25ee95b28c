//! What Rust knows of the machine code: the sizes of stubs, and where they lie. The text for the assembler is in a folder for each machine,
//! `arch/x86_64/` and `arch/aarch64/`, with the same files in both; `exports` assembles it.
#![expect(unsafe_code, reason = "addresses of stubs")]

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::*;

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::*;

#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
compile_error!("no entry stubs for this architecture yet: add a folder beside arch/x86_64");

use qmpi_abi::COUNT;

unsafe extern "C" {
    static qmpi_lazy: [[u8; LAZY_SIZE]; COUNT];
    /// The linker's names for the borders of the section of entry stubs.
    static __start_qmpi_entry: u8;
    static __stop_qmpi_entry: u8;
}

/// The address of the lazy stub of function number `id`.
pub(crate) const fn lazy(id: usize) -> *mut () {
    // SAFETY: only an address is taken, inside the array.
    unsafe { (&raw const qmpi_lazy).cast::<[u8; LAZY_SIZE]>().add(id) as *mut () }
}

/// The address of the slot of the entry stub at `address`, if there is a stub. Its instructions name the slot.
pub(crate) fn slot_at(address: usize) -> Option<usize> {
    let stubs = (&raw const __start_qmpi_entry).addr()..(&raw const __stop_qmpi_entry).addr();
    if !stubs.contains(&address) {
        return None;
    }
    // SAFETY: an entry stub begins with this code, which is readable as all code of this library.
    slot_named_by(unsafe { core::ptr::with_exposed_provenance::<StubCode>(address).read() }, address)
}
