//! The exported `MPI_*` functions: each jumps through its slot ([`crate::ring::SLOTS`]), and nothing else runs on a call.
#![expect(unsafe_code, reason = "exports unmangled symbols")]
#![allow(non_snake_case, unreachable_pub, reason = "MPI's names; they are reached by name from other objects")]

mod list;

/// A program of unit tests exports nothing: the linker would drop the sections of stubs, whose borders are referred to.
#[cfg(test)]
#[used]
static KEPT: [extern "C" fn(); 2] = [list::MPI_Send, crate::exports::shifted::list::QMPI_Send];

/// Defines one entry stub per row.
macro_rules! define {
    ($($id:literal $name:ident;)*) => { $(
        /// One jump.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        #[unsafe(link_section = "qmpi_entry")]
        pub extern "C" fn $name() {
            core::arch::naked_asm!(qmpi_ring::assembly!("entry_stub"), slots = sym $crate::ring::SLOTS, id = const $id)
        }
    )* };
}
pub(crate) use define;
