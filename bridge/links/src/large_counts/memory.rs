//! Memory for arrays of `int` that last as long as a call, without a frame that would end with the call.
//!
//! A call has returned when the thread calls again from the same place of its stack, or from one nearer to its beginning: what was
//! allocated further inside is free then. A call from another stack of the thread (a library of coroutines) is far away, and frees nothing.

use std::cell::RefCell;

/// Calls that are further apart than that are on different stacks, or so deep that their memory may wait.
const SAME_STACK: usize = 1 << 20;

/// The arrays of a call.
struct CallMemory {
    /// Where the stack was.
    stack: usize,
    elements: Box<[i32]>,
}

thread_local! {
    static CALLS: RefCell<Vec<CallMemory>> = const { RefCell::new(Vec::new()) };
}

/// Stores the elements for as long as the call lasts that was made with the stack at this address, and returns where.
///
/// In a thread that ends (a destructor of its thread-local variables calls MPI) the memory is never freed.
pub(super) fn for_call(stack: usize, elements: Vec<i32>) -> *const i32 {
    let mut call = Some(CallMemory { stack, elements: elements.into_boxed_slice() });
    let stored = CALLS.try_with(|calls| {
        let mut calls = calls.borrow_mut();
        calls.retain(|call| stack.checked_sub(call.stack).is_none_or(|distance| distance > SAME_STACK));
        calls.extend(call.take());
        calls.last().map(|call| call.elements.as_ptr())
    });
    let leaked = call.map(|call| Box::leak(call.elements).as_ptr());
    stored.ok().flatten().or(leaked).unwrap_or(std::ptr::null())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stacks() -> Vec<usize> {
        CALLS.with_borrow(|calls| calls.iter().map(|call| call.stack).collect())
    }

    #[test]
    fn memory_lasts_while_a_call_may_be_under_way() {
        let base = 0x7000_0000;
        for_call(base, vec![1]);
        for_call(base - 100, vec![2]);
        assert_eq!(stacks(), [base, base - 100], "a call inside of another");
        for_call(base - 100, vec![3]);
        assert_eq!(stacks(), [base, base - 100], "the next one from there");
        for_call(base - 2 * SAME_STACK, vec![4]);
        for_call(base, vec![5]);
        assert_eq!(stacks(), [base - 2 * SAME_STACK, base], "one on another stack");
        CALLS.with_borrow(|calls| assert_eq!(*calls[1].elements, [5]));
    }
}
