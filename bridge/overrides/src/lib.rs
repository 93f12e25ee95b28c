//! Functions of the dynamic linker, and `getenv`, as a tool gets them in place of the C library's: `dlsym`, `dlvsym`,
//! `dl_iterate_phdr`, `getenv`, `secure_getenv`.
//!
//! A tool calls them at any time: in the handler of a signal that interrupted `malloc`, in constructors, in any thread. So this
//! crate has neither `std` nor `alloc`, and no lock. What it reads is made by the loader before it is needed, published, and
//! never freed. `dlopen`, which allocates and locks in the C library as well, is the loader's (`loader/src/overrides/dlopen.rs`).
//!
//! | what | file |
//! |---|---|
//! | the C library's own functions | [`glibc`] |
//! | the environment of an instance | [`environment`] |
//! | the object at an address, without a lock | [`find_object`] |
//! | the objects of a namespace: those that the tool opened, and those that the loader listed | [`link_map`], [`object`] |
//! | the namespace of an instance, from before the first constructor in it runs | [`namespace`] |
//! | what is known of the instance that calls | [`answers`] |
//! | does a look-up by a plugin's handle come to MPI? | `plugins` |
//! | the functions | [`dlsym`], [`dl_iterate_phdr`], [`getenv`] |
//! | what the tool's references are bound to | [`arch`] |
//!
//! # What is left to the C library
//! Its own `dlsym` and `dl_iterate_phdr` take the locks of `ld.so`, here as in a tool that is preloaded. A look-up that fails
//! allocates its message, as it does there. `dlinfo`, which alone says where the thread-local variables of an object are, frees the
//! message of an earlier failure that the thread has not asked for.
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

pub mod answers;
pub mod arch;
pub mod dl_iterate_phdr;
pub mod dlsym;
pub mod environment;
pub mod find_object;
pub mod getenv;
pub mod glibc;
pub mod link_map;
pub mod namespace;
pub mod object;
mod plugins;

pub use answers::Answers;
pub use link_map::{Handle, LinkMap};
pub use namespace::{Namespace, Provider};
pub use object::Object;
