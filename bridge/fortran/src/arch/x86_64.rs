//! Machine code for x86-64: entry points. Fortran's arguments stay where they are; `r11` is the psABI's for linkage (3.2.1).

/// Defines the exported function `$name`, which goes on to the first of these symbols that the process has.
macro_rules! entry_point {
    ($name:ident $first:literal $($second:literal)?) => {
        /// Jumps to the MPI library's procedure; where there is none, says so.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        extern "C" fn $name() {
            core::arch::naked_asm!(
                concat!(".weak ", $first),
                concat!("mov r11, qword ptr [rip + ", $first, "@GOTPCREL]"),
                "test r11, r11",
                "jnz 2f",
                $(
                    concat!(".weak ", $second),
                    concat!("mov r11, qword ptr [rip + ", $second, "@GOTPCREL]"),
                    "test r11, r11",
                    "jnz 2f",
                )?
                // The return address tells which function it was.
                "call {missing}",
                "2:",
                "jmp r11",
                missing = sym $crate::arch::missing,
            )
        }
    };
}
pub(crate) use entry_point;

/// Defines another spelling of `$target`.
macro_rules! other_spelling {
    ($name:ident $target:ident) => {
        /// The same function.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        extern "C" fn $name() {
            core::arch::naked_asm!("jmp {target}", target = sym $target)
        }
    };
}
pub(crate) use other_spelling;

/// Called by an entry point; its return address lies in it. The stack is aligned again for a call.
#[unsafe(naked)]
pub(crate) extern "C" fn missing() {
    core::arch::naked_asm!(
        "pop rdi",
        "and rsp, -16",
        "call {say}",
        "ud2",
        say = sym crate::missing::say,
    )
}

// `core` as it comes with the compiler names this function of `std` in its unwind tables. Nothing here unwinds.
#[cfg(not(test))]
core::arch::global_asm!(
    ".pushsection .text.qmpi_no_unwinding, \"ax\", @progbits",
    ".hidden rust_eh_personality",
    ".globl rust_eh_personality",
    ".type rust_eh_personality, @function",
    "rust_eh_personality:",
    "ud2",
    ".size rust_eh_personality, . - rust_eh_personality",
    ".popsection",
);
