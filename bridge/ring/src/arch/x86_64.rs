//! Text for the assembler on x86-64.

mod arguments;
mod thread_storage;
