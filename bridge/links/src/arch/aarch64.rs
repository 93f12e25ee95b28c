//! The numbers and the instructions of AArch64. What differs from x86-64 is told in docs/maintainers/decisions/aarch64.md.
//!
//! Stubs are reached through a trampoline:
//!
//! | register | at a stub's entry |
//! |---|---|
//! | `x17` | the trampoline's payload (AAPCS64 6.1.1 lets a linkage stub use it, and `x16`, by which the stub is reached) |
//! | `x0`-`x7`, stack, `x8`, `q0`-`q7` | the arguments, untouched |
//! | `x30` | the return address in the caller, which a tail jump keeps; it is not signed yet |
//! | `x9`-`x15` | free |
//!
//! Every function carries its own CFI, so that a back trace and a signal-driven profiler find the way through.
#![expect(unsafe_code, reason = "single instructions, and words of the stack")]

use std::sync::atomic::{Ordering, fence};

use qmpi_ring::arch::aarch64::arguments::KEPT;

use crate::arch::{CALL_DISTANCE, SMALLEST_PAGE, can_be_read};

/// Bytes of the largest page that Linux has here (4, 16 or 64 KB): what starts and ends at multiples of it can be mapped everywhere.
pub(crate) const PAGE: usize = 0x1_0000;

/// Words that are passed in registers (AAPCS64 6.8.2).
pub(crate) const ARGUMENT_REGISTERS: usize = 8;

/// Bytes of a lazy link's first jump.
pub(crate) const LAZY_JUMP: usize = 12;

/// Bytes of the code of a switch.
pub(crate) const SWITCH_SIZE: usize = 64;

/// How many frame records are looked at.
const FRAMES: usize = 64;
/// The bits of an address of a process's own memory (48; 52 only for those that ask for it). A stored return address may be signed (PAC) in
/// the bits above.
const ADDRESS: usize = (1 << 48) - 1;

/// Assembles the text of features. Operands as of `global_asm!`: those of all machines, then those of each.
macro_rules! machine_code {
    ($features:tt, { $($operands:tt)* } $(, x86_64 $other:tt)? $(, aarch64 { $($own:tt)* })?) => {
        $crate::arch::assemble!($features, { $($operands)* $($($own)*)? },
            ".macro qmpi_restore_arguments", qmpi_ring::restore_arguments!(), ".endm");
    };
}
pub(crate) use machine_code;

/// Says that from here on an address of a stub may be stored where machine code reads it, in threads that run.
///
/// A stub finds its row by its own place. A processor may have read the row before it read the address that it jumped through, so the
/// threads of the process have to pass a barrier in between (membarrier(2)). Without that system call (before Linux 4.14, or where a
/// filter forbids it) the order is that of the writes alone.
pub fn publish_stubs() {
    fence(Ordering::SeqCst);
    if membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED) {
        return;
    }
    // The process has not been registered yet.
    let _ = membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
        && membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: touches no memory.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// The thread pointer.
pub fn thread_pointer() -> usize {
    let pointer: usize;
    // SAFETY: a register that holds it (AAPCS64 6.1.4).
    unsafe { std::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nostack, nomem, preserves_flags)) };
    pointer
}

/// Is a call under way that was made with the stack pointer `place` and this return address? `stack` is the stack pointer at the entry of a
/// stub, whose frame (`keep_arguments`) is there.
///
/// On x86-64 a call pushes its return address to a known place. Here a call leaves it in `x30`, and the callee stores it wherever its frame
/// has room. So the call is under way if a frame further down, and below that stack pointer, holds that address: in the chain of frame
/// records (AAPCS64 6.4.6), or, where code is built without, in any word of the stack up to there.
pub(crate) fn is_under_way(place: usize, return_address: usize, stack: usize) -> bool {
    if place < stack {
        return false;
    }
    let wanted = |word: usize| (word ^ return_address) & ADDRESS == 0;
    let mut frame = stack.wrapping_sub(KEPT);
    for _ in 0..FRAMES {
        if !can_be_read(frame, stack) {
            break;
        }
        // SAFETY: a frame record, aligned to 16, in readable memory; two words whatever they hold.
        let [next, saved] = unsafe { std::ptr::with_exposed_provenance::<[usize; 2]>(frame).read_volatile() };
        if wanted(saved) {
            return true;
        }
        if next <= frame || next >= place || !next.is_multiple_of(16) {
            break;
        }
        frame = next;
    }
    if place - stack > CALL_DISTANCE {
        return false;
    }
    // Its frame begins at the stack pointer of the call.
    let mut word = place;
    while word > stack {
        word -= size_of::<usize>();
        if (word % SMALLEST_PAGE > SMALLEST_PAGE - 2 * size_of::<usize>() || word + size_of::<usize>() == place)
            && !can_be_read(word, stack)
        {
            return false;
        }
        // SAFETY: a word of a page that can be read.
        if wanted(unsafe { std::ptr::with_exposed_provenance::<usize>(word).read_volatile() }) {
            return true;
        }
    }
    false
}

/// What `rt_sigprocmask` returns for a mask at `address` and a `how` of -1: a system call without `errno`.
pub(crate) fn invalid_sigprocmask(address: usize) -> isize {
    let result: isize;
    // SAFETY: the kernel reads a word, or refuses to; no other memory and no mask is changed.
    unsafe {
        std::arch::asm!(
            "svc 0",
            in("x8") libc::SYS_rt_sigprocmask,
            inlateout("x0") -1isize => result,
            in("x1") address,
            in("x2") 0usize,
            in("x3") size_of::<u64>(),
            options(nostack, readonly),
        )
    };
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_has_barriers() {
        publish_stubs();
        assert!(membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED), "registered by the first call");
    }
}
