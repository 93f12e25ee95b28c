//! The order in which other threads see a stub and an address of it.
#![expect(unsafe_code, reason = "a system call")]

use std::sync::atomic::{Ordering, fence};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_has_barriers() {
        publish_stubs();
        assert!(membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED), "registered by the first call");
    }
}
