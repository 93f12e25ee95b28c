//! Stubs of a layer whose own calls are hidden: what they are for is in [`crate::own_calls`].
//!
//! Both leave all arguments, the stack and its return address as they are, and end in a jump.
//!
//! ```text
//! records  +0   bytes to the topmost record, 0 without one
//!          +8   the largest number: a place above all others
//!          +24  record 1: key, place of the return address, the return address
//!          +48  record 2: ...
//! ```
#![expect(unsafe_code, reason = "machine code behind trampolines")]

use std::arch::global_asm;
use std::mem::offset_of;

use super::{PAGE, Stub, stub};
use crate::own_calls::{self, CalledLink, EnteredEntry, EnteredWrapper, EnteredWrappers, decide};

/// Up to this distance above the stack pointer a record's place is read at once: it is on the same stack then. Elsewhere the kernel is
/// asked whether it can be read.
const NEAR: usize = 0x4000;
/// So many bytes below the stack pointer are the same stack: a function of MPI, which is about to be called, needs more.
const BELOW: usize = 0x800;

global_asm!(
    ".pushsection .text.qmpi_own_calls, \"ax\", @progbits",
    // The layer above calls a wrapper: r11 is its `Entry`.
    ".balign 16",
    ".hidden qmpi_own_entry",
    ".globl qmpi_own_entry",
    "qmpi_own_entry:",
    ".cfi_startproc",
    "mov r10, qword ptr [rip + {offset}]",
    "add r10, qword ptr fs:[r10]",
    "cmp qword ptr fs:[r10 + {place}], rsp",
    "ja 3f",
    // The topmost is over. If the one below is not, its place is free.
    "cmp qword ptr fs:[r10 + {place} - {record}], rsp",
    "jbe 5f",
    "2:",
    "push qword ptr [r11 + {entry_key}]",
    ".cfi_adjust_cfa_offset 8",
    "pop qword ptr fs:[r10 + {key}]",
    ".cfi_adjust_cfa_offset -8",
    "mov qword ptr fs:[r10 + {place}], rsp",
    "pop qword ptr fs:[r10 + {return_address}]",
    ".cfi_adjust_cfa_offset -8",
    "push qword ptr fs:[r10 + {return_address}]",
    ".cfi_adjust_cfa_offset 8",
    "jmp qword ptr [r11 + {wrapper}]",
    "3:",
    "cmp r10, qword ptr [rip + {last}]",
    "jae 6f",
    "add r10, {record}",
    "4:",
    "push r11",
    ".cfi_adjust_cfa_offset 8",
    "mov r11, qword ptr [rip + {offset}]",
    "sub r10, r11",
    "mov qword ptr fs:[r11], r10",
    "add r10, r11",
    "pop r11",
    ".cfi_adjust_cfa_offset -8",
    "jmp 2b",
    "5:",
    "sub r10, {record}",
    "cmp qword ptr fs:[r10 + {place} - {record}], rsp",
    "jbe 5b",
    "jmp 4b",
    "6:",
    qmpi_ring::keep_arguments!(),
    "mov rdi, r11",
    "lea rsi, [rbp + 8]",
    "call {enter_when_full}",
    qmpi_ring::go_on_with_arguments!(),
    ".cfi_endproc",
    // The layer calls `PMPI_f`: r11 is a `Link`.
    ".balign 16",
    ".hidden qmpi_own_link",
    ".globl qmpi_own_link",
    "qmpi_own_link:",
    ".cfi_startproc",
    "mov r10, qword ptr [rip + {offset}]",
    "add r10, qword ptr fs:[r10]",
    "1:",
    // A wrapper that ends in a jump to `PMPI_f` has the stack pointer of its record.
    "cmp qword ptr fs:[r10 + {place}], rsp",
    "jae 2f",
    "sub r10, {record}",
    "jmp 1b",
    "2:",
    "push rax",
    ".cfi_adjust_cfa_offset 8",
    // Records just below the stack pointer are over, and go: deeper calls would cover their places, perhaps without writing there.
    "mov rax, qword ptr [rip + {offset}]",
    "add rax, qword ptr fs:[rax]",
    "cmp rax, r10",
    "je 7f",
    "mov rax, qword ptr fs:[rax + {place}]",
    "sub rax, rsp",
    "cmp rax, -{below}",
    "jl 7f",
    "push r11",
    ".cfi_adjust_cfa_offset 8",
    "mov rax, r10",
    "mov r11, qword ptr [rip + {offset}]",
    "sub rax, r11",
    "mov qword ptr fs:[r11], rax",
    "pop r11",
    ".cfi_adjust_cfa_offset -8",
    "7:",
    "mov rax, qword ptr fs:[r10 + {place}]",
    "sub rax, rsp",
    "cmp rax, {near}",
    "ja 4f",
    "mov rax, qword ptr [rsp + rax]",
    "cmp rax, qword ptr fs:[r10 + {return_address}]",
    "jne 4f",
    "mov rax, qword ptr fs:[r10 + {key}]",
    "xor rax, qword ptr [r11 + {link_key}]",
    "jnz 3f",
    ".cfi_remember_state",
    "pop rax",
    ".cfi_adjust_cfa_offset -8",
    "jmp qword ptr [r11 + {next}]",
    "3:",
    ".cfi_restore_state",
    "shr rax, 32",
    "jnz 4f",
    ".cfi_remember_state",
    "pop rax",
    ".cfi_adjust_cfa_offset -8",
    "jmp qword ptr [r11 + {library}]",
    "4:",
    ".cfi_restore_state",
    "pop rax",
    ".cfi_adjust_cfa_offset -8",
    qmpi_ring::keep_arguments!(),
    "mov rdi, r11",
    "lea rsi, [rbp + 8]",
    "call {decide}",
    qmpi_ring::go_on_with_arguments!(),
    ".cfi_endproc",
    ".popsection",
    offset = sym crate::thread_offsets::OWN_CALLS,
    last = sym crate::thread_offsets::LAST_OWN_CALL,
    record = const size_of::<EnteredWrapper>(),
    key = const offset_of!(EnteredWrapper, key),
    place = const offset_of!(EnteredWrapper, place),
    return_address = const offset_of!(EnteredWrapper, return_address),
    entry_key = const offset_of!(EnteredEntry, key),
    wrapper = const offset_of!(EnteredEntry, wrapper),
    link_key = const offset_of!(CalledLink, key),
    next = const offset_of!(CalledLink, next),
    library = const offset_of!(CalledLink, library),
    near = const NEAR,
    below = const BELOW,
    decide = sym decide,
    enter_when_full = sym enter_when_full,
);

unsafe extern "C" {
    fn qmpi_own_entry();
    fn qmpi_own_link();
}

/// Into a wrapper: see [`EnteredEntry`].
pub(crate) fn own_entry() -> Stub {
    stub(qmpi_own_entry)
}

/// Out of a layer: see [`CalledLink`].
pub(crate) fn own_link() -> Stub {
    stub(qmpi_own_link)
}

/// No record is free: [`own_calls::enter_when_full`].
extern "C" fn enter_when_full(entry: &EnteredEntry, stack: usize) -> usize {
    // SAFETY: the wrapper was called: its return address is on top of the stack.
    let return_address = unsafe { std::ptr::with_exposed_provenance::<usize>(stack).read() };
    own_calls::enter_when_full(entry, stack, return_address)
}

/// Is a call under way whose return address stood at `place`, seen from here on the stack?
pub(crate) fn is_under_way(place: usize, return_address: usize, stack: usize) -> bool {
    if place < stack || !can_be_read(place, stack) {
        return false;
    }
    // SAFETY: readable memory; a word whatever it holds.
    let word = unsafe { std::ptr::with_exposed_provenance::<usize>(place).read_volatile() };
    word == return_address
}

/// The records of this thread.
pub(crate) fn own_records() -> *mut EnteredWrappers {
    let thread: usize;
    // SAFETY: the first word of the thread control block is its own address (psABI 3.4.6: the thread pointer).
    unsafe { std::arch::asm!("mov {}, fs:[0]", out(reg) thread, options(nostack, preserves_flags, readonly)) };
    let offset = crate::thread_offsets::OWN_CALLS.load(std::sync::atomic::Ordering::Relaxed);
    std::ptr::with_exposed_provenance_mut(thread.wrapping_add(offset))
}

/// Can the word at `address` be read? `stack` is the stack pointer.
///
/// `rt_sigprocmask` copies the new mask from user space before it looks at `how`, so an invalid `how` changes nothing and the error is
/// EFAULT or EINVAL (Linux: kernel/signal.c). It is async-signal-safe; `errno` stays as it is.
pub(crate) fn can_be_read(address: usize, stack: usize) -> bool {
    if address / PAGE == stack / PAGE {
        return true;
    }
    let result: isize;
    // SAFETY: the kernel reads a word, or refuses to; no other memory and no mask is changed.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") libc::SYS_rt_sigprocmask as isize => result,
            in("rdi") -1isize,
            in("rsi") address,
            in("rdx") 0usize,
            in("r10") size_of::<u64>(),
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack, readonly),
        )
    };
    result != -(libc::EFAULT as isize)
}
