//! Where threads meet without waiting for each other, under loom: every interleaving of their threads, every order of memory that
//! the language allows.
//!
//! A test program of its own, beside `e2e`: the files of `bridge/ring` name `crate::sync`, so that loom's types have to be at the
//! root of the crate that includes them. A mutex stands for `ld.so`'s lock, under which the writers are.
#![allow(dead_code, unreachable_pub, unsafe_code, reason = "parts of bridge/ring")]

#[path = "../../bridge/ring/src/list.rs"]
mod list;
#[path = "interleavings/models.rs"]
mod models;
#[path = "../../bridge/ring/src/progress.rs"]
mod progress;
#[path = "../../bridge/ring/src/published.rs"]
mod published;

/// What those are made of here.
mod sync {
    pub(crate) use loom::sync::atomic;
}

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use loom::thread;

use models::LoaderLock;
use progress::{IDLE, Progress};

#[test]
fn readers_and_writers_of_a_table() {
    models::readers_and_writers_of_a_table();
}

#[test]
fn readers_and_writers_of_a_list() {
    models::readers_and_writers_of_a_list(models::LOCKED);
}

#[test]
#[should_panic(expected = "an item is lost")]
fn writers_that_forget_the_lock_lose_items() {
    models::readers_and_writers_of_a_list(!models::LOCKED);
}

#[test]
fn a_reader_of_what_the_work_has_left() {
    models::a_reader_of_what_the_work_has_left();
}

/// Threads at their first call: one does the work, all find it done, and the one that is at it may come back.
#[test]
fn threads_at_their_first_call() {
    loom::model(|| {
        let lock = Arc::new(LoaderLock::new());
        let start_up = Arc::new(Progress::new(AtomicU8::new(IDLE)));
        let done = Arc::new(AtomicUsize::new(0));
        let first_call = {
            let (lock, start_up, done) = (Arc::clone(&lock), Arc::clone(&start_up), Arc::clone(&done));
            move || {
                let is_done = lock.with(|writer| {
                    start_up.advance(writer, || {
                        // A constructor of a tool calls MPI: the thread has the lock already.
                        assert!(!start_up.advance(writer, || unreachable!("the work is under way")));
                        done.store(done.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                        true
                    })
                });
                assert!(is_done && start_up.is_done());
                assert_eq!(done.load(Ordering::Relaxed), 1);
            }
        };
        let others = [thread::spawn(first_call.clone()), thread::spawn(first_call.clone())];
        first_call();
        others.into_iter().for_each(|other| other.join().expect("the other thread"));
    });
}

/// A thread that has the lock from elsewhere (it runs a constructor) makes its first call while another is about to: it does not
/// wait for the other's work, but does it.
#[test]
fn a_call_in_a_constructor() {
    loom::model(|| {
        let lock = Arc::new(LoaderLock::new());
        let start_up = Arc::new(Progress::new(AtomicU8::new(IDLE)));
        let other = {
            let (lock, start_up) = (Arc::clone(&lock), Arc::clone(&start_up));
            thread::spawn(move || assert!(lock.with(|writer| start_up.advance(writer, || true))))
        };
        lock.with(|writer| assert!(start_up.advance(writer, || true)));
        other.join().expect("the other thread");
    });
}

/// A process forks in whatever state start-up is; of the child's threads (it makes its own) none waits for the parent's work or does it
/// a second time, and what was not begun is done once.
#[test]
fn a_child_of_a_fork() {
    // By the state that the child has a copy of: idle, under way in the parent, done.
    for (state, done_by_the_child) in [(IDLE, 1), (1, 0), (2, 0)] {
        loom::model(move || {
            // `ld.so` makes its lock anew in the child.
            let lock = Arc::new(LoaderLock::new());
            let start_up = Arc::new(Progress::new(AtomicU8::new(state)));
            let done = Arc::new(AtomicUsize::new(0));
            let first_call = {
                let (lock, start_up, done) = (Arc::clone(&lock), Arc::clone(&start_up), Arc::clone(&done));
                move || {
                    let work = || {
                        done.fetch_add(1, Ordering::Relaxed);
                        true
                    };
                    lock.with(|writer| start_up.advance(writer, work))
                }
            };
            let other = thread::spawn(first_call.clone());
            let is_done = first_call();
            assert_eq!(is_done, state != 1, "where the parent was at it the child goes on without");
            assert_eq!(other.join().expect("the other thread"), is_done);
            assert_eq!(done.load(Ordering::Relaxed), done_by_the_child);
        });
    }
}

/// The thread that is at work forks: a constructor of a tool does. In the child it is the only thread, has the lock, and ends the
/// work as it would have ended it in the parent.
#[test]
fn a_fork_inside_of_the_work() {
    loom::model(|| {
        let lock = Arc::new(LoaderLock::new());
        let start_up = Arc::new(Progress::new(AtomicU8::new(IDLE)));
        let is_done = lock.with(|writer| {
            start_up.advance(writer, || {
                // In the child: a call of MPI comes back here.
                assert!(!start_up.advance(writer, || unreachable!("the work is under way")));
                assert!(!start_up.is_done());
                true
            })
        });
        assert!(is_done && start_up.is_done());
    });
}

/// A start-up that could not be done yet is tried again.
#[test]
fn what_could_not_be_done_is_tried_again() {
    loom::model(|| {
        let lock = Arc::new(LoaderLock::new());
        let start_up = Arc::new(Progress::new(AtomicU8::new(IDLE)));
        let attempt = {
            let (lock, start_up) = (Arc::clone(&lock), Arc::clone(&start_up));
            move |succeeds| lock.with(|writer| start_up.advance(writer, || succeeds))
        };
        let other = thread::spawn({
            let attempt = attempt.clone();
            move || attempt(false)
        });
        assert!(attempt(true));
        other.join().expect("the other thread");
        assert!(start_up.is_done());
    });
}
