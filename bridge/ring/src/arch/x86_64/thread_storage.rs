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
//! qmpi_own      +0   bytes to the topmost record of a wrapper that was entered (loader: links/own_calls.rs), 0 without one
//!               +8   the largest number, in the place of an address on the stack
//!               +24  record 1:  function, where its return address is, what it is
//!               +48  record 2:  ...
//! qmpi_past     a bit for each layer that can be switched off: did the call that starts a request, which is under way, go past it?
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
            ".hidden qmpi_past",
            ".globl qmpi_past",
            ".type qmpi_past, @object",
            ".size qmpi_past, 8",
            "qmpi_past:",
            ".zero 8",
            ".popsection",
            ".pushsection .tdata.qmpi_thread, \"awT\", @progbits",
            ".balign 8",
            ".hidden qmpi_own",
            ".globl qmpi_own",
            ".type qmpi_own, @object",
            ".size qmpi_own, {own}",
            "qmpi_own:",
            ".quad 0, -1, 0",
            ".zero {own} - 24",
            ".popsection",
            caller = const 8 + $crate::ring::CALLER_RECORD * $crate::ring::CALLER_DEPTH,
            own = const $crate::ring::OWN_RECORD * (1 + $crate::ring::OWN_DEPTH),
        );

        /// The offsets of this library's thread-local variables; as four words, where `rdi` says, which `rax` returns (psABI 3.2.3).
        #[unsafe(naked)]
        pub(crate) extern "C" fn thread_offsets() -> $crate::ThreadOffsets {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "mov rax, rdi",
                "mov rcx, qword ptr [rip + qmpi_caller@GOTTPOFF]",
                "mov qword ptr [rax + {caller}], rcx",
                "mov rcx, qword ptr [rip + qmpi_level@GOTTPOFF]",
                "mov qword ptr [rax + {fortran_level}], rcx",
                "mov rcx, qword ptr [rip + qmpi_own@GOTTPOFF]",
                "mov qword ptr [rax + {own_calls}], rcx",
                "mov rcx, qword ptr [rip + qmpi_past@GOTTPOFF]",
                "mov qword ptr [rax + {past}], rcx",
                "ret",
                ".cfi_endproc",
                caller = const core::mem::offset_of!($crate::ThreadOffsets, caller),
                fortran_level = const core::mem::offset_of!($crate::ThreadOffsets, fortran_level),
                own_calls = const core::mem::offset_of!($crate::ThreadOffsets, own_calls),
                past = const core::mem::offset_of!($crate::ThreadOffsets, past),
            )
        }
    };
}
