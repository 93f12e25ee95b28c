//! Stubs that copy words of the stack, on stacks that end right above them, on whichever machine.
#![expect(unsafe_code, reason = "calls stubs on a stack of its own")]

use std::sync::{Mutex, PoisonError};

use crate::conversion::{self, Arity, CallerMode};
use crate::in_tests::qmpi_test_call_on;
use crate::{fortran, pcontrol};

const PAGES: usize = 16;
const PAGE: usize = crate::arch::PAGE;
const REGISTERS: usize = crate::arch::ARGUMENT_REGISTERS;
/// Words on the stack that the target of a stub reads.
const WORDS: usize = 18 - REGISTERS;

/// A stack that ends at a guard page.
struct GuardedStack(*mut u8);

impl GuardedStack {
    fn new() -> GuardedStack {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: new memory.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), (PAGES + 1) * PAGE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
        };
        assert_ne!(start, libc::MAP_FAILED);
        let stack = GuardedStack(start.cast());
        // SAFETY: the last page of the mapping.
        assert_eq!(unsafe { libc::mprotect(stack.end().cast(), PAGE, libc::PROT_NONE) }, 0);
        stack
    }

    fn end(&self) -> *mut u8 {
        self.0.wrapping_add(PAGES * PAGE)
    }

    /// Calls `link` with the words 0, 1, ... of which the last `on_stack` end `below_end` words below the guard page.
    fn call(&self, link: usize, on_stack: usize, below_end: usize) {
        let first = self.end().cast::<usize>().wrapping_sub(below_end + on_stack);
        for word in 0..on_stack {
            // SAFETY: a word of the stack.
            unsafe { first.wrapping_add(word).write(REGISTERS + word) };
        }
        // SAFETY: the words are there, and the target reads what the stub has copied.
        unsafe { qmpi_test_call_on(first, link) };
    }
}

impl Drop for GuardedStack {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`; no frame is on it.
        unsafe { libc::munmap(self.0.cast(), (PAGES + 1) * PAGE) };
    }
}

type Received = [usize; REGISTERS + WORDS];
static RECEIVED: Mutex<Received> = Mutex::new([0; REGISTERS + WORDS]);
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

type Target = extern "C" fn(
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
);

extern "C" fn target(
    a0: usize,
    a1: usize,
    a2: usize,
    a3: usize,
    a4: usize,
    a5: usize,
    a6: usize,
    a7: usize,
    a8: usize,
    a9: usize,
    a10: usize,
    a11: usize,
    a12: usize,
    a13: usize,
    a14: usize,
    a15: usize,
    a16: usize,
    a17: usize,
) {
    *RECEIVED.lock().unwrap_or_else(PoisonError::into_inner) =
        [a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17];
}

extern "C" fn nothing() {}

/// Calls `link` at all distances from the guard page. Of the target's words those from `first` on are the caller's from
/// `from` on.
fn at_the_end_of_a_page(link: usize, first: usize, from: usize) {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let stack = GuardedStack::new();
    // An even number, as the stack is aligned to 16 at a call.
    for (on_stack, below_end) in (0..WORDS).step_by(2).flat_map(|on_stack| [0, 2, 8, 64].map(|below| (on_stack, below)))
    {
        *RECEIVED.lock().unwrap_or_else(PoisonError::into_inner) = [0; REGISTERS + WORDS];
        stack.call(link, on_stack, below_end);
        let received = *RECEIVED.lock().unwrap_or_else(PoisonError::into_inner);
        let expected: Vec<usize> = (from..REGISTERS + on_stack).collect();
        assert_eq!(received[first..][..expected.len()], expected, "{on_stack} words, {below_end} below the end");
    }
}

fn address() -> usize {
    target as Target as usize
}

#[test]
fn shift_down_reads_nothing_of_a_guard_page() {
    for mode in [CallerMode::Ignore, CallerMode::Keep] {
        at_the_end_of_a_page(conversion::down(address(), Arity::Variadic, mode), 0, 2);
    }
}

#[test]
fn shift_up_reads_nothing_of_a_guard_page() {
    for mode in [CallerMode::Ignore, CallerMode::Keep] {
        at_the_end_of_a_page(conversion::up(address(), 7, Arity::Variadic, mode), 2, 0);
    }
}

#[test]
fn delivery_to_both_reads_nothing_of_a_guard_page() {
    let nothing = nothing as extern "C" fn() as usize;
    at_the_end_of_a_page(pcontrol::deliver_to_both(address(), nothing), 0, 0);
}

#[test]
fn fortran_calls_read_nothing_of_a_guard_page() {
    at_the_end_of_a_page(fortran::resume(address(), 1), 0, 0);
    // From another level than the outermost.
    let to_c = fortran::to_c(vec![address(), address()], Arity::Variadic);
    at_the_end_of_a_page(fortran::resume(to_c, 1), 0, 0);
    let to_c = fortran::to_c(vec![address(), address()], Arity::Fixed(16));
    at_the_end_of_a_page(fortran::resume(to_c, 1), 0, 0);
}
