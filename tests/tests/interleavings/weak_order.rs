//! The models of `interleavings.rs` with the same files of `bridge/ring`, in which all atomics are relaxed: loom has to find an
//! interleaving that goes wrong in each model that depends on order. What it cannot see here it would not see there.
#![allow(dead_code, unreachable_pub, unsafe_code, reason = "parts of bridge/ring")]

#[path = "../../../bridge/ring/src/list.rs"]
mod list;
#[path = "models.rs"]
mod models;
#[path = "../../../bridge/ring/src/progress.rs"]
mod progress;
#[path = "../../../bridge/ring/src/published.rs"]
mod published;

/// What those are made of here.
mod sync {
    pub(crate) mod atomic {
        pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU8, AtomicUsize};

        /// Whatever order is asked for.
        pub(crate) struct Ordering;

        #[expect(non_upper_case_globals, reason = "names of the standard library")]
        impl Ordering {
            pub(crate) const Relaxed: loom::sync::atomic::Ordering = loom::sync::atomic::Ordering::Relaxed;
            pub(crate) const Acquire: loom::sync::atomic::Ordering = Self::Relaxed;
            pub(crate) const Release: loom::sync::atomic::Ordering = Self::Relaxed;
        }
    }
}

#[test]
#[should_panic(expected = "a table that is not whole")]
fn readers_and_writers_of_a_table() {
    models::readers_and_writers_of_a_table();
}

#[test]
#[should_panic(expected = "Causality violation")]
fn readers_and_writers_of_a_list() {
    models::readers_and_writers_of_a_list(models::LOCKED);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_reader_of_what_the_work_has_left() {
    models::a_reader_of_what_the_work_has_left();
}
