//! Text for the assembler on AArch64.

pub mod arguments;
pub mod registers;
mod thread_storage;
