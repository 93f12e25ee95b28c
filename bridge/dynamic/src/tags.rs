//! Numbers of the System V gABI (chapter 5) and of its GNU extensions that the libc crate does not have.

pub(crate) const DT_NULL: u64 = 0;
pub(crate) const DT_NEEDED: u64 = 1;
pub(crate) const DT_PLTRELSZ: u64 = 2;
pub(crate) const DT_HASH: u64 = 4;
pub(crate) const DT_STRTAB: u64 = 5;
pub(crate) const DT_SYMTAB: u64 = 6;
pub(crate) const DT_RELA: u64 = 7;
pub(crate) const DT_RELASZ: u64 = 8;
pub(crate) const DT_STRSZ: u64 = 10;
pub(crate) const DT_SONAME: u64 = 14;
pub(crate) const DT_RPATH: u64 = 15;
pub(crate) const DT_JMPREL: u64 = 23;
pub(crate) const DT_RUNPATH: u64 = 29;
pub(crate) const DT_FLAGS: u64 = 30;
pub(crate) const DT_GNU_HASH: u64 = 0x6fff_fef5;
pub(crate) const DT_VERSYM: u64 = 0x6fff_fff0;
pub(crate) const DT_RELACOUNT: u64 = 0x6fff_fff9;
pub(crate) const DT_FLAGS_1: u64 = 0x6fff_fffb;
pub(crate) const DT_VERDEF: u64 = 0x6fff_fffc;
pub(crate) const DT_VERNEED: u64 = 0x6fff_fffe;

pub(crate) const SHN_UNDEF: u16 = 0;
pub(crate) const SHN_ABS: u16 = 0xfff1;

pub(crate) const STB_GLOBAL: u8 = 1;
pub(crate) const STB_WEAK: u8 = 2;
pub(crate) const STB_GNU_UNIQUE: u8 = 10;

pub(crate) const STT_NOTYPE: u8 = 0;
pub(crate) const STT_OBJECT: u8 = 1;
pub(crate) const STT_FUNC: u8 = 2;
pub(crate) const STT_COMMON: u8 = 5;
pub(crate) const STT_TLS: u8 = 6;
pub(crate) const STT_GNU_IFUNC: u8 = 10;

pub(crate) const STV_DEFAULT: u8 = 0;
pub(crate) const STV_PROTECTED: u8 = 3;
