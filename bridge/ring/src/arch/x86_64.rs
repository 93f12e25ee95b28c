//! Text for the assembler on x86-64.

mod arguments;
pub mod registers;
mod thread_storage;
