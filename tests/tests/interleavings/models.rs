//! The models that both programs have: threads, and what must hold however they interleave.
//!
//! Readers are threads that are spawned last. loom 0.7 follows a load to the stores that came before it, but not to those that a thread
//! spawned later makes after it: a reader that runs first sees nothing but the beginning. `weak_order.rs` shows that these models see more.

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicPtr, AtomicU8, AtomicUsize};
use loom::sync::{Arc, Mutex};
use loom::thread;

use crate::list::List;
use crate::progress::{IDLE, Progress};
use crate::published::Published;
use qmpi_dynamic::LinkerLock;

/// `ld.so`'s lock.
pub(crate) struct LoaderLock(Mutex<()>);

/// Writers take the lock.
pub(crate) const LOCKED: bool = true;

impl LoaderLock {
    pub(crate) fn new() -> LoaderLock {
        LoaderLock(Mutex::new(()))
    }

    pub(crate) fn with<T>(&self, work: impl FnOnce(&LinkerLock) -> T) -> T {
        self.unless_forgotten(LOCKED, work)
    }

    /// The mistake that [`LinkerLock::new`] is `unsafe` for.
    fn unless_forgotten<T>(&self, locked: bool, work: impl FnOnce(&LinkerLock) -> T) -> T {
        let _guard = locked.then(|| self.0.lock());
        // SAFETY: the guard lives until the end of this function; without it the model has to fail.
        work(&unsafe { LinkerLock::held() })
    }
}

/// Tries all interleavings in which threads are interrupted three times or less where they could have gone on: without a bound it takes minutes, and
/// mistakes show at one or two.
fn explore(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// Tables that are longer and longer, each in an array that goes on: a reader that takes one for longer than it is sees a 0, and
/// nothing outside of the array.
static TABLES: [[usize; 4]; 4] = [[0; 4], [1, 0, 0, 0], [1, 2, 0, 0], [1, 2, 3, 0]];

/// Readers see tables whole, and none that is shorter than one they have seen; of several writers none loses what another added.
pub(crate) fn readers_and_writers_of_a_table() {
    explore(|| {
        let lock = Arc::new(LoaderLock::new());
        let first = AtomicPtr::new(TABLES[0].as_ptr().cast_mut());
        let table = Arc::new(Published::new(first, AtomicUsize::new(0)));
        let add = {
            let (lock, table) = (Arc::clone(&lock), Arc::clone(&table));
            move || {
                lock.with(|lock| {
                    let len = table.get().len() + 1;
                    assert!(table.publish(&TABLES[len][..len], lock));
                });
            }
        };
        let writers = [thread::spawn(add.clone()), thread::spawn(add)];
        let reader = {
            let table = Arc::clone(&table);
            thread::spawn(move || {
                let mut seen = 0;
                for _ in 0..2 {
                    let now: &[usize] = table.get();
                    let is_whole = now.len() >= seen && now.iter().copied().eq(1..=now.len());
                    assert!(is_whole, "a table that is not whole: {now:?}");
                    seen = now.len();
                }
            })
        };
        reader.join().expect("the reader");
        writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
        assert_eq!(table.get(), &TABLES[2][..2]);
    });
}

/// An item whose contents loom watches: written before it is added, read by all threads afterwards.
struct Item(UnsafeCell<usize>);
// SAFETY: that is what the model is about.
unsafe impl Sync for Item {}

impl Item {
    fn new(value: usize) -> Item {
        let item = Item(UnsafeCell::new(0));
        // SAFETY: not shared yet.
        item.0.with_mut(|place| unsafe { *place = value });
        item
    }

    fn value(&self) -> usize {
        // SAFETY: no longer written; loom says so if it may be.
        self.0.with(|place| unsafe { *place })
    }
}

/// Two writers add to a list while a reader goes through it: the reader sees whole items, and what it has seen stays; none is lost.
pub(crate) fn readers_and_writers_of_a_list(locked: bool) {
    explore(move || {
        let lock = Arc::new(LoaderLock::new());
        let list: Arc<List<Item>> = Arc::new(List::default());
        let writers = [1, 2].map(|value| {
            let (lock, list) = (Arc::clone(&lock), Arc::clone(&list));
            thread::spawn(move || {
                lock.unless_forgotten(locked, |lock| {
                    let node = Box::leak(Box::new(List::node(Item::new(value))));
                    assert_eq!(list.add(node, lock).value(), value);
                });
            })
        });
        let reader = {
            let list = Arc::clone(&list);
            thread::spawn(move || {
                let before: Vec<usize> = list.iter().map(Item::value).collect();
                let after: Vec<usize> = list.iter().map(Item::value).collect();
                assert!(!locked || after.ends_with(&before), "{before:?}, then {after:?}");
            })
        };
        reader.join().expect("the reader");
        writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
        let mut all: Vec<usize> = list.iter().map(Item::value).collect();
        all.sort_unstable();
        assert_eq!(all, [1, 2], "an item is lost");
    });
}

/// A thread that does not take the lock finds that the work is done: then it sees what the work has left.
pub(crate) fn a_reader_of_what_the_work_has_left() {
    explore(|| {
        let lock = Arc::new(LoaderLock::new());
        let start_up = Arc::new(Progress::new(AtomicU8::new(IDLE)));
        let left = Arc::new(Item(UnsafeCell::new(0)));
        let workers = [(); 2].map(|()| {
            let (lock, start_up, left) = (Arc::clone(&lock), Arc::clone(&start_up), Arc::clone(&left));
            thread::spawn(move || {
                lock.with(|lock| {
                    start_up.advance(lock, || {
                        // SAFETY: one thread does the work, and no other reads before it is done.
                        left.0.with_mut(|place| unsafe { *place += 1 });
                        true
                    })
                });
            })
        });
        let reader = {
            let (start_up, left) = (Arc::clone(&start_up), Arc::clone(&left));
            thread::spawn(move || {
                if start_up.is_done() {
                    assert_eq!(left.value(), 1);
                }
            })
        };
        reader.join().expect("the reader");
        workers.into_iter().for_each(|worker| worker.join().expect("a worker"));
        assert!(start_up.is_done());
        assert_eq!(left.value(), 1);
    });
}
