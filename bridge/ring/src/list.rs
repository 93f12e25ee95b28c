//! A list that only grows: read by any thread at any time, without a lock, also from signal handlers.
#![expect(unsafe_code, reason = "follows pointers to nodes that are never freed")]

use core::ptr::null_mut;

use crate::sync::atomic::{AtomicPtr, Ordering};
use qmpi_dynamic::LinkerLock;

/// The list. The item that was added last comes first.
#[derive(Debug)]
pub struct List<T: 'static> {
    first: AtomicPtr<Node<T>>,
}

/// An item and those that were added before it.
#[derive(Debug)]
pub struct Node<T: 'static> {
    item: T,
    rest: *mut Node<T>,
}

impl<T: Sync> List<T> {
    /// An empty list, of a null pointer.
    pub const fn new(first: AtomicPtr<Node<T>>) -> List<T> {
        List { first }
    }

    /// A node for [`List::add`], which whoever allocates makes.
    pub const fn node(item: T) -> Node<T> {
        Node { item, rest: null_mut() }
    }

    /// Adds an item, whose node stays for ever.
    pub fn add(&self, node: &'static mut Node<T>, _: &LinkerLock) -> &'static T {
        node.rest = self.first.load(Ordering::Relaxed);
        let node: *mut Node<T> = node;
        self.first.store(node, Ordering::Release);
        // SAFETY: the node is never freed, nor written again.
        unsafe { &(*node).item }
    }

    /// The items.
    pub fn iter(&self) -> impl Iterator<Item = &'static T> + use<T> {
        // SAFETY: nodes are never freed, and complete before they are in the list.
        let mut node: Option<&'static Node<T>> = unsafe { self.first.load(Ordering::Acquire).as_ref() };
        core::iter::from_fn(move || {
            let Node { item, rest } = node?;
            // SAFETY: nodes are never freed, and the rest was in the list before this node.
            node = unsafe { rest.as_ref() };
            Some(item)
        })
    }
}

impl<T: Sync> Default for List<T> {
    fn default() -> List<T> {
        List::new(AtomicPtr::new(null_mut()))
    }
}

// SAFETY: only shared references to the item of a node are given away, and `T` is `Sync`.
unsafe impl<T: Sync> Sync for Node<T> {}
// SAFETY: nodes are never taken out again; an item may be made in another thread.
unsafe impl<T: Send> Send for Node<T> {}
