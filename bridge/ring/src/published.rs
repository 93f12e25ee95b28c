//! A table that is read on calls, without a lock, and now and then replaced by a longer one.
#![expect(unsafe_code, reason = "a slice out of a pointer and a length")]

use core::ptr::NonNull;

use crate::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use qmpi_dynamic::LinkerLock;

/// The table. A table that was published is never freed: a reader may still be using it.
#[derive(Debug)]
#[repr(C)]
pub struct Published<T: 'static> {
    first: AtomicPtr<T>,
    /// Written after, and read before the pointer: a reader that sees a length sees a table that is as long at least. So a reader
    /// compares an index with what does not depend on the table.
    len: AtomicUsize,
}

impl<T> Published<T> {
    /// Where the table starts at first: nowhere.
    pub const NOWHERE: *mut T = NonNull::dangling().as_ptr();

    /// An empty table, of [`Published::NOWHERE`] and 0.
    pub const fn new(first: AtomicPtr<T>, len: AtomicUsize) -> Published<T> {
        Published { first, len }
    }

    /// The table, or one that was there before.
    #[inline]
    pub fn get(&self) -> &'static [T] {
        let len = self.len.load(Ordering::Acquire);
        // SAFETY: `publish` was given a table of that length or a longer one; before, the length is 0 and the pointer dangles.
        unsafe { core::slice::from_raw_parts(self.first.load(Ordering::Acquire), len) }
    }

    /// Replaces the table by one that is as long at least; a shorter one is refused with `false`.
    pub fn publish(&self, table: &'static [T], _: &LinkerLock) -> bool {
        if table.len() < self.get().len() {
            return false;
        }
        self.first.store(table.as_ptr().cast_mut(), Ordering::Release);
        self.len.store(table.len(), Ordering::Release);
        true
    }
}
