//! What depends on the processor, picked here alone: numbers, a few instructions, and the text of stubs.
//!
//! The text of a feature is in `arch/<machine>/<feature>.s`. The Rust around it, `<feature>.rs`, is the same for each machine, and has the
//! text assembled by `machine_code!`.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
pub use aarch64::*;

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;

#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
compile_error!("no stubs for this architecture yet: add a file beside arch/x86_64.rs");

/// Assembles the text of features, behind what is defined for all of them, `more` among it. Operands as of `global_asm!`.
macro_rules! assemble {
    ([$($feature:literal),+], { $($operands:tt)* } $(, $more:expr)*) => {
        std::arch::global_asm!(
            ".ifndef .Lqmpi_macros",
            ".set .Lqmpi_macros, 1",
            qmpi_ring::argument_macros!(),
            $($more,)*
            qmpi_ring::assembly!("macros"),
            ".endif",
            $(qmpi_ring::assembly!($feature),)+
            $($operands)*
        );
    };
}
pub(crate) use assemble;

/// What starts a page, of [`PAGE`] bytes, and is whole pages long.
#[derive(Debug)]
#[cfg_attr(target_arch = "x86_64", repr(C, align(4096)))]
#[cfg_attr(target_arch = "aarch64", repr(C, align(65536)))]
pub(crate) struct WholePages<T>(pub(crate) T);

const _: () = assert!(align_of::<WholePages<u8>>() == PAGE);

/// Bytes of the smallest page: what lies in one of these lies in one page everywhere.
pub(crate) const SMALLEST_PAGE: usize = 0x1000;

/// How far above a stub's frame a recorded call may lie: more than any tool's frames take, less than a stack.
pub(crate) const CALL_DISTANCE: usize = 0x4_0000;

/// Bytes of a page of this system.
pub fn page_size() -> usize {
    #![expect(unsafe_code, reason = "a question to the system")]
    // SAFETY: no requirements.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(PAGE)
}

/// Can the word at `address` be read? `stack` is the stack pointer.
///
/// Where that does not tell, `rt_sigprocmask` is told to read a new mask there, and an invalid way to change the mask. It copies the mask from user
/// space before it looks at `how`, so nothing is changed and the error is EFAULT or EINVAL (Linux: kernel/signal.c). It is
/// async-signal-safe; `errno` stays as it is.
pub(crate) fn can_be_read(address: usize, stack: usize) -> bool {
    address / SMALLEST_PAGE == stack / SMALLEST_PAGE || invalid_sigprocmask(address) != -(libc::EFAULT as isize)
}

/// A call that was recorded on its way into a layer, by Rust or by machine code.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct EnteredCall<Key> {
    /// What is found by the record.
    pub(crate) key: Key,
    /// Where the return address is on the stack; where a call keeps that in a register, the stack pointer of the call.
    pub(crate) place: usize,
    pub(crate) return_address: usize,
}

impl<Key> EnteredCall<Key> {
    /// Is the call still under way, seen from here on the stack?
    pub(crate) fn holds(&self, stack: usize) -> bool {
        is_under_way(self.place, self.return_address, stack)
    }
}
