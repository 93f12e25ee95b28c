//! `libqmpi_crash.so`: has `qmpi` report a crash, where `qmpi run --crash-report` preloads it. It is in no other process.
//!
//! | when | what | file |
//! |---|---|---|
//! | the process starts | handlers of the signals of a crash, and a stack for them | `start.rs`, `alternate_stack.rs` |
//! | a thread starts | a stack for the handlers | `threads.rs` |
//! | the process asks for a handler of its own | it is kept, and called by ours | `actions.rs`, `exports.rs` |
//! | a signal arrives | the process's own handler, or the report and the end | `handler.rs` |
//! | it arrives while a handler runs | what blocking it would have done | `blocked.rs` |
//! | a report | `qmpi` is started, and asks for memory of this process | `report.rs` |
//! | `qmpi` cannot be started | one line | `line.rs` |
//! | a handler ends the process | a report before | `exits.rs` |
//!
//! A handler runs anywhere, in a process whose heap and stack may be destroyed: nothing here allocates or takes a lock, and all
//! but the start calls nothing but system calls. Why it is made so: docs/decisions/crash-report.md.
#![no_std]
#![allow(unreachable_pub, reason = "exported functions")]

mod actions;
mod alternate_stack;
mod arch;
mod blocked;
mod exits;
mod exports;
mod handler;
mod line;
mod report;
mod start;
mod threads;

/// Without an unwinder a panic can only end the process; no code here is meant to panic.
#[cfg(not(test))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    exits::end(3)
}
