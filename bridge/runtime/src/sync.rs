//! What `once.rs` and `published.rs` are made of. Where all interleavings of threads are tried (`tests/tests/interleavings.rs`),
//! loom's takes its place.

pub(crate) use std::sync::atomic;
pub(crate) use std::thread::yield_now;
