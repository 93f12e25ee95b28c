//! The tables that the dynamic linker uses of one ELF object: symbols, hash tables, versions, relocations.
//!
//! One reader for both: files before they are loaded, and objects as `ld.so` has mapped them. [`Tables`] is made from views of
//! memory ([`Bytes`]), and does not know where they come from.
//!
//! Each module uses those above it only.
//!
//! | question | module |
//! |---|---|
//! | which numbers does the format have? | `tags.rs` |
//! | which machine is it for? | [`machine`](Machine) |
//! | who may write into loaded objects? | [`linker_lock`](LinkerLock) |
//! | what may be read, and how far? | [`bytes`](Bytes) |
//! | where does the dynamic section say the tables are? | [`dynamic`](Dynamic) |
//! | a symbol, by its number or by its name | [`symbol`](Symbol), [`hash`] |
//! | versions that an object defines and needs | [`version`] |
//! | the tables of one object | [`tables`](Tables) |
//! | words that hold the address of a symbol | [`relocation`] |
//! | is it an MPI library? | [`mpi`] |
//! | an object in this process | [`segments`](Segments), [`mapped`](Mapped) |
//! | all objects of the base namespace | [`objects`] |
//! | other addresses in the words of an object | [`rebind`] |
//! | other thread-local variables in the words of an object | [`thread_local`] |
//!
//! # Where it may run
//! In the callback of `dl_iterate_phdr`, in signal handlers, before any constructor. The crate has no `std` and no `alloc`;
//! it never panics, and calls no function of the C library but `dl_iterate_phdr` in [`objects`]: strings are measured and
//! compared byte by byte, because `strlen` and `memcmp` may be the functions of a sanitizer that is not ready. What is left is
//! `memcpy` where a [`Mapped`] of 300 bytes is moved: a caller that must not have it keeps the `Option` and borrows from it.
//!
//! # What it trusts
//! Nothing that an object says of itself. Each offset and each count is compared with the memory that is there; a chain of
//! entries is followed for as many steps as there is room for entries, also where it leads back to its beginning.
#![cfg_attr(not(test), no_std)]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a panic is how a test fails"))]
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::unreachable,
        clippy::unwrap_used
    )
)]

mod bytes;
mod dynamic;
pub mod hash;
mod linker_lock;
mod machine;
mod mapped;
pub mod mpi;
pub mod objects;
pub mod rebind;
pub mod relocation;
mod segments;
mod symbol;
mod tables;
mod tags;
pub mod thread_local;
pub mod version;

pub use bytes::{Bytes, Plain};
pub use dynamic::{Dynamic, Extent, Table, entries};
pub use linker_lock::LinkerLock;
pub use machine::Machine;
pub use mapped::Mapped;
pub use segments::Segments;
pub use symbol::{Symbol, SymbolKind};
pub use tables::{Asked, Fault, OfDefinitions, Tables};
