//! The two places of the runtime where threads meet without a lock, under loom: every interleaving of their threads, every order
//! of memory that the language allows.
//!
//! A test program of its own, beside `e2e`: the runtime's files name `crate::sync`, so that loom's types have to be at the root
//! of the crate that includes them.
#![allow(dead_code, unreachable_pub, reason = "parts of the runtime")]

#[path = "../../bridge/runtime/src/once.rs"]
mod once;
#[path = "../../bridge/runtime/src/published.rs"]
mod published;

/// What those are made of here.
mod sync {
    pub(crate) use loom::sync::atomic;
    pub(crate) use loom::thread::yield_now;
}

use loom::sync::Arc;
use loom::sync::atomic::{AtomicI32, AtomicPtr, AtomicUsize, Ordering};
use loom::thread;

use once::{IDLE, Once};
use published::Published;

/// Two threads at their first call: one does the work, both find it done, and the one that is at it may come back.
#[test]
fn threads_at_their_first_call() {
    loom::model(|| {
        let once = Arc::new(Once::new(AtomicI32::new(IDLE)));
        // Written by the work without any order of its own.
        let slot = Arc::new(AtomicUsize::new(0));
        let call = |me: i32| {
            let (once, slot) = (Arc::clone(&once), Arc::clone(&slot));
            move || {
                once.ensure(me, || {
                    once.ensure(me, || unreachable!("a constructor of a tool comes back"));
                    slot.fetch_add(1, Ordering::Relaxed);
                    true
                });
                assert_eq!(slot.load(Ordering::Relaxed), 1, "a call before the slots are filled");
                assert!(once.is_done());
            }
        };
        let other = thread::spawn(call(2));
        call(1)();
        other.join().unwrap_or_else(|_| unreachable!("it failed"));
    });
}

/// What could not be done is tried again by the next call, and nobody waits for ever.
#[test]
fn what_fails_is_tried_again() {
    loom::model(|| {
        let once = Arc::new(Once::new(AtomicI32::new(IDLE)));
        let other = {
            let once = Arc::clone(&once);
            thread::spawn(move || once.ensure(2, || false))
        };
        once.ensure(1, || false);
        other.join().unwrap_or_else(|_| unreachable!("it failed"));
        let mut tried = false;
        once.ensure(1, || {
            tried = true;
            true
        });
        assert!(tried && once.is_done());
    });
}

/// Readers of a table that grows: each table is filled with its own length, so a length from one and a pointer from a shorter
/// one would show.
#[test]
fn a_table_that_grows() {
    loom::model(|| {
        let empty = (AtomicPtr::new(Published::<usize>::NOWHERE), AtomicUsize::new(0));
        let table = Arc::new(Published::new(empty.0, empty.1));
        let reader = {
            let table = Arc::clone(&table);
            thread::spawn(move || {
                let seen = table.get();
                assert!(seen.first().is_none_or(|filled| *filled >= seen.len()), "longer than the table");
            })
        };
        for len in [1, 2] {
            table.publish(vec![len; len].into());
        }
        reader.join().unwrap_or_else(|_| unreachable!("it failed"));
        assert_eq!(table.get(), [2, 2]);
    });
}
