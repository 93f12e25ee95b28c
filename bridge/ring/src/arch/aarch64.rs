//! Text for the assembler on AArch64.

pub mod arguments;
mod thread_storage;
