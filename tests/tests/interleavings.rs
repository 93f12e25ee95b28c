//! Where threads meet without waiting for each other, under loom: every interleaving of their threads, every order of memory that
//! the language allows.
//!
//! A test program of its own, beside `e2e`: the files of `bridge/ring` name `crate::sync`, so that loom's types have to be at the
//! root of the crate that includes them. A mutex stands for `ld.so`'s lock, under which the writers are.
#![allow(dead_code, unreachable_pub, unsafe_code, reason = "parts of bridge/ring")]

#[path = "../../bridge/ring/src/progress.rs"]
mod progress;
#[path = "../../bridge/ring/src/published.rs"]
mod published;
#[path = "../../bridge/ring/src/writer.rs"]
mod writer;

/// What those are made of here.
mod sync {
    pub(crate) use loom::sync::atomic;
}

use loom::sync::atomic::{AtomicPtr, AtomicU8, AtomicUsize, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;

use progress::{IDLE, Progress};
use published::Published;
use writer::Writer;

/// `ld.so`'s lock.
struct LoaderLock(Mutex<()>);

impl LoaderLock {
    fn new() -> LoaderLock {
        LoaderLock(Mutex::new(()))
    }

    fn with<T>(&self, work: impl FnOnce(&Writer) -> T) -> T {
        let _guard = self.0.lock();
        // SAFETY: the guard lives until the end of this function.
        work(&unsafe { Writer::new() })
    }
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

/// The child of a fork finds the work under way, has the lock, and nothing finishes the work: it goes on without.
#[test]
fn a_child_of_a_fork() {
    loom::model(|| {
        let lock = LoaderLock::new();
        let start_up = Progress::new(AtomicU8::new(IDLE));
        lock.with(|writer| {
            start_up.advance(writer, || {
                // Here the parent forks; in the child another thread than the one at work lives on.
                assert!(!start_up.advance(writer, || true));
                true
            })
        });
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

/// Readers see tables whole, and none that is shorter than one they have seen; of several writers none loses what another added.
#[test]
fn readers_and_writers_of_a_table() {
    const TABLES: [&[usize]; 3] = [&[1], &[1, 2], &[1, 2, 3]];
    loom::model(|| {
        let lock = Arc::new(LoaderLock::new());
        let table = Arc::new(Published::new(AtomicPtr::new(Published::NOWHERE), AtomicUsize::new(0)));
        let add = {
            let (lock, table) = (Arc::clone(&lock), Arc::clone(&table));
            move || lock.with(|writer| assert!(table.publish(TABLES[table.get().len()], writer)))
        };
        let writers = [thread::spawn(add.clone()), thread::spawn(add)];
        let mut seen = 0;
        for _ in 0..2 {
            let now: &[usize] = table.get();
            assert!(now.len() >= seen && now.iter().copied().eq(1..=now.len()), "{now:?}");
            seen = now.len();
        }
        writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
        assert_eq!(table.get(), TABLES[1]);
    });
}
