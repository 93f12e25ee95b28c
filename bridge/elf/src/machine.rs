//! The machines whose files are read, and the one this was built for: what ELF calls them, and what ld.so puts in for `$LIB` and
//! `$PLATFORM`. One place for every constant that depends on the architecture.

use std::path::PathBuf;

use goblin::elf::header;
use qmpi_dynamic::Machine;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("qmpi-elf knows x86-64 and AArch64; add this machine's e_machine, cache flags and directories here");

/// `e_machine` of libraries for this machine.
pub const HOST: u16 = number(Machine::HOST);

/// Bytes of the largest page that Linux has on this machine: segments of a file that is written are aligned to it (4 KB on x86-64;
/// 4, 16 or 64 KB on AArch64).
pub(crate) const LARGEST_PAGE: usize = match Machine::HOST {
    Machine::X86_64 => 0x1000,
    Machine::Aarch64 => 0x1_0000,
};

/// The name used in messages.
pub const HOST_NAME: &str = std::env::consts::ARCH;

/// `EI_DATA` of libraries for this machine; both machines above are little-endian.
pub(crate) const HOST_BYTE_ORDER: u8 = header::ELFDATA2LSB;

/// Required `flags` of an ld.so.cache entry: FLAG_ELF_LIBC6 (3) with the machine's bits
/// (glibc sysdeps/generic/ldconfig.h: FLAG_X8664_LIB64 0x0300, FLAG_AARCH64_LIB64 0x0a00).
pub(crate) const CACHE_FLAGS: u32 = match Machine::HOST {
    Machine::X86_64 => 0x0303,
    Machine::Aarch64 => 0x0a03,
};

/// The machine that `e_machine` means, if its files can be read.
pub(crate) fn known(e_machine: u16) -> Option<Machine> {
    Machine::ALL.into_iter().find(|machine| number(*machine) == e_machine)
}

/// `e_machine` of its files.
pub const fn number(machine: Machine) -> u16 {
    match machine {
        Machine::X86_64 => header::EM_X86_64,
        Machine::Aarch64 => header::EM_AARCH64,
    }
}

/// A missing PT_GNU_STACK means an executable stack on this machine (glibc DEFAULT_STACK_PERMS: PF_X on
/// x86-64; AArch64 has none).
pub(crate) fn stack_is_executable_by_default(machine: Machine) -> bool {
    machine == Machine::X86_64
}

/// Directories searched last. ld.so has two of them built in, depending on the distribution;
/// these are Debian's, Red Hat's and the plain ones.
pub(crate) fn default_directories(machine: Machine) -> Vec<PathBuf> {
    lib_tokens(machine).iter().flat_map(|lib| [format!("/{lib}"), format!("/usr/{lib}")]).map(PathBuf::from).collect()
}

/// What `$LIB` stands for: fixed when glibc was built, so all usual values are tried.
pub(crate) const fn lib_tokens(machine: Machine) -> [&'static str; 3] {
    match machine {
        Machine::X86_64 => ["lib/x86_64-linux-gnu", "lib64", "lib"],
        Machine::Aarch64 => ["lib/aarch64-linux-gnu", "lib64", "lib"],
    }
}

/// What `$PLATFORM` stands for: the kernel's AT_PLATFORM. glibc replaces it on some processors
/// ("haswell", "xeon_phi"), which RPATHs have not used since glibc-hwcaps.
pub const fn platform(machine: Machine) -> &'static str {
    match machine {
        Machine::X86_64 => "x86_64",
        Machine::Aarch64 => "aarch64",
    }
}

/// The processor's name for a foreign `e_machine`.
pub(crate) fn name(machine: u16) -> String {
    match machine {
        header::EM_386 => "i386".into(),
        header::EM_X86_64 => "x86_64".into(),
        header::EM_AARCH64 => "aarch64".into(),
        header::EM_ARM => "32-bit Arm".into(),
        header::EM_PPC => "32-bit PowerPC".into(),
        header::EM_PPC64 => "ppc64".into(),
        header::EM_S390 => "s390".into(),
        header::EM_RISCV => "RISC-V".into(),
        header::EM_IA_64 => "Itanium".into(),
        header::EM_MIPS => "MIPS".into(),
        header::EM_SPARCV9 => "sparc64".into(),
        258 => "LoongArch".into(),         // EM_LOONGARCH, not in goblin 0.10
        251 => "NEC Vector Engine".into(), // EM_VE: SX-Aurora, where an MPI host is x86-64
        190 => "NVIDIA CUDA".into(),       // EM_CUDA: device code
        number => match header::machine_to_str(number) {
            "EM_UNKNOWN" => format!("machine number {number}"),
            text => text.trim_start_matches("EM_").to_owned(),
        },
    }
}
