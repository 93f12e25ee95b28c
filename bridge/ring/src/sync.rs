//! What `published.rs` is made of. Where all interleavings of threads are tried (the end-to-end tests), loom's takes its place.

pub(crate) use core::sync::atomic;
