//! Thread-local variables that stubs between layers use, found by their offsets from the thread pointer.
//!
//! The library that is in the process from the start defines them, so that they take nothing of the static TLS that `ld.so` keeps
//! for libraries that are opened later.
//!
//! ```text
//! qmpi_caller   +0   offset of the topmost record of where the application called (loader: arch/x86_64/caller.rs)
//!               +8   record 0:  context, where the witness is, what it holds
//!               +32  record 1:  ...
//! qmpi_level    how many layers the Fortran call has behind it, 0 outside of such calls
//! ```

/// Defines the variables, and `thread_offsets`, which returns where they are ([`crate::ThreadOffsets`]).
#[macro_export]
macro_rules! define_thread_storage {
    () => {
        core::arch::global_asm!(
            ".pushsection .tbss.qmpi_thread, \"awT\", @nobits",
            ".balign 8",
            ".hidden qmpi_caller",
            ".globl qmpi_caller",
            ".type qmpi_caller, @object",
            ".size qmpi_caller, {caller}",
            "qmpi_caller:",
            ".zero {caller}",
            ".hidden qmpi_level",
            ".globl qmpi_level",
            ".type qmpi_level, @object",
            ".size qmpi_level, 8",
            "qmpi_level:",
            ".zero 8",
            ".popsection",
            caller = const 8 + $crate::ring::CALLER_RECORD * $crate::ring::CALLER_DEPTH,
        );

        /// The offsets of this library's thread-local variables; as two words, in `rax` and `rdx` (psABI 3.2.3).
        #[unsafe(naked)]
        pub(crate) extern "C" fn thread_offsets() -> $crate::ThreadOffsets {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "mov rax, qword ptr [rip + qmpi_caller@GOTTPOFF]",
                "mov rdx, qword ptr [rip + qmpi_level@GOTTPOFF]",
                "ret",
                ".cfi_endproc",
            )
        }
    };
}
