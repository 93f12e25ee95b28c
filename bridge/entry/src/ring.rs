//! The words that `libqmpi_core.so` reads and writes. They live in this library, which is never unloaded.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use qmpi_abi::COUNT;
use qmpi_ring::next_table::Current;
use qmpi_ring::{Glibc, NextTable, Published, RegisteredTool, Ring, ring, thread_offsets};

use crate::arch;

/// Where each function goes. Slots are written at start-up and never again; before any code of the process can call a function, they lead to
/// the lazy stubs.
pub(crate) static SLOTS: [AtomicPtr<()>; COUNT] = [const { AtomicPtr::new(null_mut()) }; COUNT];

static NO_ANSWERS: NextTable = NextTable::EMPTY;

pub(crate) static RING: Ring = Ring {
    build: ring::build(env!("QMPI_BUILD")),
    slots: &SLOTS,
    lazy: AtomicPtr::new(arch::lazy(0)),
    lazy_size: arch::LAZY_SIZE,
    intercepted: [const { AtomicBool::new(false) }; COUNT],
    tools: Published::new(AtomicPtr::new(Published::<RegisteredTool>::NOWHERE), AtomicUsize::new(0)),
    next: Current::new(AtomicPtr::new((&raw const NO_ANSWERS).cast_mut())),
    glibc: Glibc {
        dlsym: AtomicUsize::new(0),
        dlvsym: AtomicUsize::new(0),
        dl_iterate_phdr: AtomicUsize::new(0),
        dlopen: AtomicUsize::new(0),
    },
    thread_offsets,
};

/// Leads all functions to their lazy stubs. Called by `ld.so` for the value of a relocation, an address that nothing uses; null would look
/// like a failure.
pub(crate) extern "C" fn fill_slots() -> usize {
    for (id, slot) in SLOTS.iter().enumerate() {
        slot.store(arch::lazy(id), Ordering::Relaxed);
    }
    core::ptr::from_ref(&SLOTS).addr()
}
