//! The dynamic linker's rules: where it searches, and which libraries are its own and glibc's.

pub mod family;
pub mod ld_cache;
pub mod search;
