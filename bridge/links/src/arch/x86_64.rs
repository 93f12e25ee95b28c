//! Machine code for x86-64: trampolines, and the shims and stubs they lead to.
//!
//! Nothing is written at run time; a trampoline is made by filling in a row of data.
//!
//! | register | at a shim's entry |
//! |---|---|
//! | `r11` | the trampoline's payload (the psABI lets a linkage stub use it: figure 3.4) |
//! | `rdi rsi rdx rcx r8 r9`, stack, `al`, `xmm0-7` | the arguments, untouched |
//! | `[rsp]` | the return address in the caller, which a tail jump keeps |
//!
//! Every function carries its own CFI, so that a back trace and a signal-driven profiler find the way through.
//!
//! | file | what |
//! |---|---|
//! | `trampoline.rs` | one word of data for a shim |
//! | `lazy.rs` | links that are found when they are first called |
//! | `links.rs` | links that tell, or deliver `MPI_Pcontrol` |
//! | `fortran.rs` | at which layer Fortran calls enter the chain |
//! | `publication.rs` | a stub before its address |
//! | `own_calls.rs` | which calls of a layer are its own |
//! | `caller.rs` | text for stubs that keep the application's return address |
//! | `numbered.rs` | a function of a QMPI tool with its id |
//! | `look_ups.rs` | what a tool that wraps `dlsym` goes on to |
//! | `stack_words.rs` | text that copies words of the stack, as many as can be read |
//! | `switch.rs` | past a layer that is switched off, or into it |
//! | `requests.rs` | functions of the MPI library that start or complete requests, watched |
//! | `shift.rs` | from one calling convention of tools to another |

mod caller;
mod fortran;
#[cfg(test)]
pub(crate) mod in_tests;
mod lazy;
mod links;
mod look_ups;
mod numbered;
mod own_calls;
#[cfg(planted)]
mod planted;
mod publication;
mod requests;
mod shift;
mod stack_words;
mod switch;
mod trampoline;

pub(crate) use fortran::*;
pub(crate) use lazy::*;
pub(crate) use links::*;
pub(crate) use look_ups::*;
pub(crate) use numbered::*;
pub(crate) use own_calls::*;
#[cfg(planted)]
pub(crate) use planted::*;
pub use publication::publish_stubs;
pub(crate) use requests::*;
pub(crate) use switch::*;
pub use trampoline::*;

/// Bytes of a page.
pub(crate) const PAGE: usize = 4096;

/// Bytes of a page of this system.
pub const fn page_size() -> usize {
    PAGE
}

/// Words that are passed in registers (psABI 3.2.3).
pub(crate) const ARGUMENT_REGISTERS: usize = 6;

/// The thread pointer.
pub fn thread_pointer() -> usize {
    #![expect(unsafe_code, reason = "reads the thread pointer")]
    let pointer: usize;
    // SAFETY: the thread control block begins with its own address (psABI 3.4.2).
    unsafe { std::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nostack, readonly, preserves_flags)) };
    pointer
}
