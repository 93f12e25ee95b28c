//! Libraries that the program opens after start-up: Python's extension modules, and what they bring.
//!
//! `ld.so` does not tell when that happens. But a program that opens a library looks something up in it next, and `dlsym` of the
//! process is ours: it asks here whether there are new objects, which costs a look at a counter if there are none.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::process::{environment, glibc, objects, weak};
use crate::{core_library, mpir, pass_through};

/// How many objects had ever been opened at the last look.
static OPENED: AtomicU64 = AtomicU64::new(0);

/// All objects that there are have been seen to.
pub(crate) fn all_seen() {
    OPENED.store(count(), Ordering::Relaxed);
}

/// Sees to objects that were opened since the last look.
pub(crate) fn look() {
    let now = count();
    let before = OPENED.swap(now, Ordering::Relaxed);
    if before == now {
        return;
    }
    // What was opened last stands at the end of the list. Objects that were there before may be among so many, where others have
    // been closed again; looking at them twice does no harm.
    let count = usize::try_from(now.saturating_sub(before)).unwrap_or(usize::MAX);
    // Under `qmpi run --mpir` the core is open where there is no stack, too.
    let is_open = core_library::open_already().is_some();
    let is_cores =
        if environment::names_a_stack() { is_open || objects::has_mpi() } else { is_open && !mpir::is_asked_for() };
    if is_cores {
        objects::each_of_last(count, weak::clear);
        (core_library::functions().objects_opened)();
    } else {
        pass_through::enter_last(count);
    }
}

/// How many objects `ld.so` has ever opened.
pub(crate) fn count() -> u64 {
    glibc::find_object(|info| Some(info.generation().0)).unwrap_or(0)
}
