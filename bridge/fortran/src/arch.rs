//! Machine code: entry points. Fortran's arguments stay where they are. The text for the assembler is in a folder for each machine.

/// Text that goes to the label `2` with the address of a symbol, if the process has it: by
/// way of `x16`, which is for linkage (AAPCS64 6.1.1).
#[cfg(target_arch = "aarch64")]
macro_rules! load {
    ($symbol:literal) => {
        concat!(
            concat!(".weak ", $symbol, "\nadrp x16, :got:", $symbol, "\n"),
            concat!("ldr x16, [x16, :got_lo12:", $symbol, "]\ncbnz x16, 2f")
        )
    };
}

/// Text that goes to the label `2` with the address of a symbol, if the process has it: by
/// way of `r11`, which is the psABI's for linkage (3.2.1).
#[cfg(target_arch = "x86_64")]
macro_rules! load {
    ($symbol:literal) => {
        concat!(".weak ", $symbol, "\nmov r11, qword ptr [rip + ", $symbol, "@GOTPCREL]\ntest r11, r11\njnz 2f")
    };
}
pub(crate) use load;

core::arch::global_asm!(qmpi_ring::assembly!("missing"), say = sym crate::missing::say);

/// Defines the exported function `$name`, which goes on to the first of these symbols that the process has.
macro_rules! entry_point {
    ($name:ident $($symbol:literal)+) => {
        /// Jumps to the MPI library's procedure; where there is none, says so.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        extern "C" fn $name() {
            core::arch::naked_asm!($($crate::arch::load!($symbol),)+ qmpi_ring::assembly!("entry_point"))
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
            core::arch::naked_asm!(qmpi_ring::assembly!("other_spelling"), target = sym $target)
        }
    };
}
pub(crate) use other_spelling;
