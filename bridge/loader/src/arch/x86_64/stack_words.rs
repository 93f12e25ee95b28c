//! Assembler text that copies words which may be arguments from above the caller's return address, as many as can be read.
//!
//! Where the number of a call's arguments is unknown (variadic functions, Fortran), a stub that makes a frame copies as many words as
//! any call passes. The caller may have passed fewer, and its stack may end right above them: the stack of a coroutine has a guard page
//! there. Words in the page that holds the return address can be read for sure. Where the block leaves that page, the kernel
//! is asked whether the next one can be read: `rt_sigprocmask` copies the new mask from user space before it looks at `how`, so an
//! invalid `how` changes nothing and the error is EFAULT or EINVAL (Linux: kernel/signal.c). It is async-signal-safe.
//!
//! | register | |
//! |---|---|
//! | `r10` | used |
//! | all others, the flags excepted | kept |
#![expect(unsafe_code, reason = "machine code")]
use std::arch::global_asm;

/// Text that copies `$words` words from `rsp + $from`, directly above a return address, to `rsp`. One such text in a function, and
/// [`copy_words_across_pages`] with the same numbers behind its end.
macro_rules! copy_words {
    ($words:literal from $from:literal) => {
        concat!(
            "
            lea r10, [rsp + ",
            $from,
            " - 8]
            and r10d, 4095
            cmp r10d, 4096 - 8 - 8 * ",
            $words,
            "
            ja 18f
            .cfi_remember_state
            .set .Lqmpi_k, 0
            .rept ",
            $words,
            "
            mov r10, qword ptr [rsp + ",
            $from,
            " + 8 * .Lqmpi_k]
            mov qword ptr [rsp + 8 * .Lqmpi_k], r10
            .set .Lqmpi_k, .Lqmpi_k + 1
            .endr
            19:
            "
        )
    };
}

/// Text for the case that the words do not end in the page of the return address.
macro_rules! copy_words_across_pages {
    ($words:literal from $from:literal) => {
        concat!(
            "
            .cfi_restore_state
            18:
            lea r10, [rsp + ",
            $from,
            "]
            call qmpi_copy_readable_",
            $words,
            "
            jmp 19b
            "
        )
    };
}
pub(super) use {copy_words, copy_words_across_pages};

global_asm!(
    // Copies words from r10 to where the stack pointer was before the call.
    //
    //     rsp+72  the words' place
    //     rsp+64  return address
    //     rsp+56  how many words
    //     rsp     rsi rdi rdx rcx rax r11 r10
    ".macro qmpi_copy_readable words",
    ".balign 16",
    ".hidden qmpi_copy_readable_\\words",
    ".globl qmpi_copy_readable_\\words",
    "qmpi_copy_readable_\\words:",
    ".cfi_startproc",
    "push \\words",
    ".cfi_adjust_cfa_offset 8",
    ".irp register, r10, r11, rax, rcx, rdx, rdi, rsi",
    "push \\register",
    ".cfi_adjust_cfa_offset 8",
    ".endr",
    // The page behind that of the return address, whose last byte lies before the first word.
    "lea rsi, [r10 - 1]",
    "or rsi, 4095",
    "inc rsi",
    "mov eax, {rt_sigprocmask}",
    "mov rdi, -1",
    "xor edx, edx",
    "mov r10d, {kernel_sigset_size}",
    "syscall",
    "mov r10, qword ptr [rsp + 48]",
    "mov ecx, dword ptr [rsp + 56]",
    "cmp rax, -{efault}",
    "jne 2f",
    "mov rcx, rsi",
    "sub rcx, r10",
    "shr rcx, 3",
    "2:",
    "mov rsi, r10",
    "lea rdi, [rsp + 72]",
    "rep movsq",
    ".irp register, rsi, rdi, rdx, rcx, rax, r11, r10",
    "pop \\register",
    ".cfi_adjust_cfa_offset -8",
    ".endr",
    "add rsp, 8",
    ".cfi_adjust_cfa_offset -8",
    "ret",
    ".cfi_endproc",
    ".endm",
    ".pushsection .text.qmpi_plan_words, \"ax\", @progbits",
    "qmpi_copy_readable 12",
    "qmpi_copy_readable 14",
    "qmpi_copy_readable 18",
    ".popsection",
    rt_sigprocmask = const libc::SYS_rt_sigprocmask,
    kernel_sigset_size = const 8,
    efault = const libc::EFAULT,
);

#[cfg(test)]
mod tests {
    #![expect(unsafe_code, reason = "calls stubs on a stack of its own")]
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::sync::{Mutex, PoisonError};

    use crate::links::conversion::{self, Arity, CallerMode};
    use crate::links::{fortran, pcontrol};

    const PAGES: usize = 16;
    const PAGE: usize = crate::arch::PAGE;
    const REGISTERS: usize = 6;
    /// Words on the stack that the target of a stub reads.
    const WORDS: usize = 12;

    /// A stack that ends at a guard page.
    struct Stack(*mut u8);

    impl Stack {
        fn new() -> Stack {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            // SAFETY: new memory.
            let start = unsafe {
                libc::mmap(std::ptr::null_mut(), (PAGES + 1) * PAGE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
            };
            assert_ne!(start, libc::MAP_FAILED);
            let stack = Stack(start.cast());
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
            unsafe { call_on(first, link) };
        }
    }

    impl Drop for Stack {
        fn drop(&mut self) {
            // SAFETY: the mapping of `new`; no frame is on it.
            unsafe { libc::munmap(self.0.cast(), (PAGES + 1) * PAGE) };
        }
    }

    /// Calls `link` with the words 0 to 5 in registers and the stack pointer `stack`.
    #[unsafe(naked)]
    unsafe extern "C" fn call_on(stack: *mut usize, link: usize) {
        std::arch::naked_asm!(
            "push rbp",
            "mov rbp, rsp",
            "mov rsp, rdi",
            "mov r11, rsi",
            "xor edi, edi",
            "mov esi, 1",
            "mov edx, 2",
            "mov ecx, 3",
            "mov r8d, 4",
            "mov r9d, 5",
            "xor eax, eax",
            "call r11",
            "mov rsp, rbp",
            "pop rbp",
            "ret",
        )
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
        let stack = Stack::new();
        // An even number, as the stack is aligned to 16 at a call.
        for (on_stack, below_end) in
            (0..=10).step_by(2).flat_map(|on_stack| [0, 2, 8, 64].map(|below| (on_stack, below)))
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
            at_the_end_of_a_page(conversion::down(address(), Arity::Variadic, mode).unwrap(), 0, 2);
        }
    }

    #[test]
    fn shift_up_reads_nothing_of_a_guard_page() {
        for mode in [CallerMode::Ignore, CallerMode::Keep] {
            at_the_end_of_a_page(conversion::up(address(), 7, Arity::Variadic, mode).unwrap(), 2, 0);
        }
    }

    #[test]
    fn delivery_to_both_reads_nothing_of_a_guard_page() {
        let nothing = nothing as extern "C" fn() as usize;
        at_the_end_of_a_page(pcontrol::deliver_to_both(address(), nothing).unwrap(), 0, 0);
    }

    #[test]
    fn fortran_calls_read_nothing_of_a_guard_page() {
        at_the_end_of_a_page(fortran::resume(address(), 1).unwrap(), 0, 0);
        // From another level than the outermost.
        let to_c = fortran::to_c(vec![address(), address()], Arity::Variadic).unwrap();
        at_the_end_of_a_page(fortran::resume(to_c, 1).unwrap(), 0, 0);
        let to_c = fortran::to_c(vec![address(), address()], Arity::Fixed(16)).unwrap();
        at_the_end_of_a_page(fortran::resume(to_c, 1).unwrap(), 0, 0);
    }
}
