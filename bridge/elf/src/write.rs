//! ELF files that are written: providers, and copies of tools.

pub mod duplicate;
pub mod provider;
