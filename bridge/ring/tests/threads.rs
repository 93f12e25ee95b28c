//! Threads that read while one writes: for Miri (`ci/miri`), which sees races, and order of memory that this processor never shows.
#![expect(unsafe_code, reason = "writers, and a variable under their lock")]

use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicUsize};

use qmpi_dynamic::LinkerLock;
use qmpi_ring::{List, Progress, Published, progress};

/// Under Miri each step of a thread takes thousands of instructions.
const ITEMS: usize = if cfg!(miri) { 8 } else { 1000 };

#[test]
fn what_was_added_last_comes_first() {
    static LIST: List<u32> = List::new(AtomicPtr::new(null_mut()));
    // SAFETY: no other thread of this test writes.
    let lock = unsafe { LinkerLock::held() };
    assert_eq!(LIST.iter().next(), None);
    for item in [1, 2, 3] {
        let node = Box::leak(Box::new(List::node(item)));
        assert_eq!(*LIST.add(node, &lock), item);
    }
    assert_eq!(LIST.iter().copied().collect::<Vec<_>>(), [3, 2, 1]);
}

#[test]
fn readers_of_a_list() {
    static LIST: List<Box<usize>> = List::new(AtomicPtr::new(null_mut()));
    let reader = || {
        let mut seen = 0;
        while seen < ITEMS {
            let items: Vec<usize> = LIST.iter().map(|item| **item).collect();
            assert!(items.len() >= seen && items.iter().copied().eq((0..items.len()).rev()), "{items:?}");
            seen = items.len();
            std::thread::yield_now();
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(reader);
        scope.spawn(reader);
        for item in 0..ITEMS {
            // SAFETY: this thread alone writes.
            let lock = unsafe { LinkerLock::held() };
            LIST.add(Box::leak(Box::new(List::node(Box::new(item)))), &lock);
        }
    });
}

#[test]
fn readers_of_a_table() {
    static TABLE: Published<String> = Published::new(AtomicPtr::new(Published::NOWHERE), AtomicUsize::new(0));
    let reader = || {
        let mut seen = 0;
        while seen < ITEMS {
            let table = TABLE.get();
            assert!(table.len() >= seen && table.iter().enumerate().all(|(index, text)| *text == index.to_string()));
            seen = table.len();
            std::thread::yield_now();
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(reader);
        scope.spawn(reader);
        for len in 1..=ITEMS {
            let table: Vec<String> = (0..len).map(|index| index.to_string()).collect();
            // SAFETY: this thread alone writes.
            let lock = unsafe { LinkerLock::held() };
            assert!(TABLE.publish(table.leak(), &lock));
        }
    });
}

#[test]
fn a_shorter_table_is_refused() {
    static TABLE: Published<u64> = Published::new(AtomicPtr::new(Published::NOWHERE), AtomicUsize::new(0));
    // SAFETY: no other thread of this test writes.
    let lock = unsafe { LinkerLock::held() };
    assert!(TABLE.get().is_empty() && TABLE.publish(&[], &lock));
    assert!(TABLE.publish(&[1, 2], &lock) && TABLE.publish(&[3, 4], &lock));
    assert!(!TABLE.publish(&[5], &lock));
    assert_eq!(TABLE.get(), [3, 4]);
}

/// What start-up has left, which is read without a lock afterwards.
struct Outcome(UnsafeCell<u32>);
// SAFETY: written under the lock, and read when it is known to have happened.
unsafe impl Sync for Outcome {}

#[test]
fn what_the_work_has_written_is_there_when_it_is_done() {
    static LOCK: Mutex<()> = Mutex::new(());
    static PROGRESS: Progress = Progress::new(AtomicU8::new(progress::IDLE));
    static OUTCOME: Outcome = Outcome(UnsafeCell::new(0));
    let call = || {
        if !PROGRESS.is_done() {
            let _lock = LOCK.lock();
            // SAFETY: under the lock.
            let lock = unsafe { LinkerLock::held() };
            assert!(PROGRESS.advance(&lock, || {
                assert!(!PROGRESS.advance(&lock, || true), "it comes back from inside");
                // SAFETY: one thread does the work, and none reads before it is done.
                unsafe { *OUTCOME.0.get() += 1 };
                true
            }));
        }
        // SAFETY: done, and never written again.
        assert_eq!(unsafe { *OUTCOME.0.get() }, 1);
    };
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(call);
        }
    });
}
