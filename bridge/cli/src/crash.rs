//! The report of a crash: `libqmpi_crash.so` starts this command in the process that crashes, and answers its questions.
//!
//! | question | file |
//! |---|---|
//! | what is in the memory of the process | [`process`] |
//! | which objects are mapped, and where are their tables for unwinding | [`objects`] |
//! | which frames are on the stack | [`unwind`] |
//! | of which function and line is an address | [`symbols`] |
//! | whose is an object: a layer's, the program's, MPI's | [`owner`] |
//! | what is said | [`text`] |
//! | what depends on the processor | `arch` |

mod arch;
pub mod objects;
pub mod owner;
pub mod process;
pub mod symbols;
pub mod text;
pub mod unwind;
