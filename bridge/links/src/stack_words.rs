//! Words of the caller's stack that may be arguments, copied as many as can be read.
//!
//! Where the number of a call's arguments is unknown (variadic functions, Fortran), a stub that makes a frame copies as many words as
//! any call passes. The caller may have passed fewer, and its stack may end right above them: the stack of a coroutine has a guard page
//! there. Words in the page that holds the stub's own frame can be read for sure. Where the words leave that page, the kernel
//! is asked whether the next one can be read, as by [`can_be_read`](crate::arch::can_be_read).
//!
//! Stubs use the macro `qmpi_copy_words` (`macros.s` of each machine), which calls what is here.
#![expect(unsafe_code, reason = "machine code")]

use crate::arch::{SMALLEST_PAGE, machine_code};

machine_code!(["stack_words"], {
    smallest_page = const SMALLEST_PAGE,
    rt_sigprocmask = const libc::SYS_rt_sigprocmask,
    kernel_sigset_size = const 8,
    efault = const libc::EFAULT,
});

#[cfg(test)]
#[path = "stack_words_tests.rs"]
mod tests;
