//! A table that is read on calls, without a lock, and now and then replaced by a longer one.
#![expect(unsafe_code, reason = "a slice out of a pointer and a length")]

use std::ptr::NonNull;

use crate::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// The table. What was published once is never freed: somebody may be reading it.
pub(crate) struct Published<T: 'static> {
    first: AtomicPtr<T>,
    /// Written after, and read before the pointer: who sees a length sees a table that is as long at least. So a reader compares
    /// an index with what does not depend on the table.
    len: AtomicUsize,
}

impl<T> Published<T> {
    /// Where the table starts at first: nowhere.
    pub(crate) const NOWHERE: *mut T = NonNull::dangling().as_ptr();

    /// An empty table, of [`Published::NOWHERE`] and 0.
    pub(crate) const fn new(first: AtomicPtr<T>, len: AtomicUsize) -> Published<T> {
        Published { first, len }
    }

    /// The table, or one that was there before.
    #[inline]
    pub(crate) fn get(&self) -> &'static [T] {
        let len = self.len.load(Ordering::Acquire);
        // SAFETY: `publish` leaked a table of that length or a longer one; before, the length is 0 and the pointer dangles.
        unsafe { std::slice::from_raw_parts(self.first.load(Ordering::Acquire), len) }
    }

    /// Replaces it by one that is as long at least. One thread at a time.
    pub(crate) fn publish(&self, table: Box<[T]>) {
        let len = table.len();
        debug_assert!(len >= self.get().len(), "a table never gets shorter");
        self.first.store(Box::leak(table).as_mut_ptr(), Ordering::Release);
        self.len.store(len, Ordering::Release);
    }
}
