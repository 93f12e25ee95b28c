//! Machine code for AArch64: entry points. Fortran's arguments stay where they are; `x16` and `x17` are for linkage (AAPCS64 6.1.1).

/// Defines the exported function `$name`, which goes on to the first of these symbols that the process has.
macro_rules! entry_point {
    ($name:ident $first:literal $($second:literal)?) => {
        /// Jumps to the MPI library's procedure; where there is none, says so.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        extern "C" fn $name() {
            core::arch::naked_asm!(
                concat!(".weak ", $first),
                concat!("adrp x16, :got:", $first),
                concat!("ldr x16, [x16, :got_lo12:", $first, "]"),
                "cbnz x16, 2f",
                $(
                    concat!(".weak ", $second),
                    concat!("adrp x16, :got:", $second),
                    concat!("ldr x16, [x16, :got_lo12:", $second, "]"),
                    "cbnz x16, 2f",
                )?
                // An address in this entry point tells which function it was.
                "adr x0, .",
                "b {missing}",
                "2:",
                "br x16",
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
            core::arch::naked_asm!("b {target}", target = sym $target)
        }
    };
}
pub(crate) use other_spelling;

/// Called by an entry point; `x0` is an address in it.
#[unsafe(naked)]
pub(crate) extern "C" fn missing() {
    core::arch::naked_asm!("b {say}", say = sym crate::missing::say)
}

// `core` as it comes with the compiler names this function of `std` in its unwind tables. Nothing here unwinds.
#[cfg(not(test))]
core::arch::global_asm!(
    ".pushsection .text.qmpi_no_unwinding, \"ax\", @progbits",
    ".hidden rust_eh_personality",
    ".globl rust_eh_personality",
    ".type rust_eh_personality, @function",
    "rust_eh_personality:",
    "brk 1",
    ".size rust_eh_personality, . - rust_eh_personality",
    ".popsection",
);
