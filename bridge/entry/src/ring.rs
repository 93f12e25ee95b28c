//! The words that `libqmpi_core.so` reads and writes.

use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};

use qmpi_abi::COUNT;
use qmpi_ring::next_table::Current;
use qmpi_ring::{Glibc, NextTable, Published, Ring, Tool, ring};

use crate::arch;
use crate::exports::functions::SLOTS;

static NO_ANSWERS: NextTable = NextTable::EMPTY;

/// They live in this library, which is never unloaded.
pub(crate) static RING: Ring = Ring {
    build: ring::build(env!("QMPI_BUILD")),
    slots: &SLOTS,
    lazy: AtomicPtr::new(arch::lazy(0)),
    lazy_size: arch::LAZY_SIZE,
    intercepted: [const { AtomicBool::new(false) }; COUNT],
    tools: Published::new(AtomicPtr::new(Published::<Tool>::NOWHERE), AtomicUsize::new(0)),
    next: Current::new(AtomicPtr::new((&raw const NO_ANSWERS).cast_mut())),
    glibc: Glibc {
        dlsym: AtomicUsize::new(0),
        dlvsym: AtomicUsize::new(0),
        dl_iterate_phdr: AtomicUsize::new(0),
        dlopen: AtomicUsize::new(0),
    },
    thread_offsets: arch::thread_offsets,
};
