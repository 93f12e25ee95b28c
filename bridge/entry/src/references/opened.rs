//! References of the process's objects to functions of MPI: those of all objects at start-up, and later those of libraries that the program
//! opens, Python's extension modules and what they bring.
//!
//! `ld.so` does not tell when a library is opened. Two things tell: most libraries call `__gmon_start__` before their constructors, which this
//! library exports, and a program that opens a library looks something up in it next, by a `dlsym` that is ours. Both ask here whether
//! there are new objects, which costs a look at a counter if there are none.
//!
//! References are changed under `ld.so`'s lock. A thread that finds new objects waits for another one that is dealing with them: when it goes
//! on, no reference is as `ld.so` has left it.
//!
//! glibc has no function that takes the lock. But `dlsym` holds it for as long as it runs (`dlfcn/dlsym.c: __dlsym`), and calls the function
//! behind a symbol of the type STT_GNU_IFUNC to learn the address (`elf/dl-sym.c: do_sym`). `qmpi_with_linker_lock` (`exports/stubs.rs`) is
//! such a symbol. `libqmpi_core.so` gets the lock in the same way (`loader/src/process/loader_lock.rs`). `dl_iterate_phdr` takes another lock of
//! `ld.so`'s, that of its list of objects, which does not wait for a thread that has mapped and listed an object and is relocating it.
#![expect(unsafe_code, reason = "asks dlsym")]

use core::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use qmpi_dynamic::LinkerLock;

use crate::core_library;
use crate::process::{environment, glibc, objects};
use crate::references::{mpi_with_qmpi, pass_through, weak};

/// How many objects had ever been opened when all of them had been dealt with.
static DEALT_WITH: AtomicU64 = AtomicU64::new(0);

/// The same of the look that has begun last, by the holder of the lock. It runs ahead of [`DEALT_WITH`] while that look lasts.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// What is to be done with all objects, [`All`]; 0: only new ones are looked at.
static DUE: AtomicU8 = AtomicU8::new(0);

/// What happens to the references of all objects at start-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum All {
    /// There is no MPI: weak references to its functions become null.
    WithoutMpi = 1,
    /// Nothing: they stay as they are.
    Nothing = 4,
    /// There is an MPI and no stack: calls go where they would go without this library.
    PassBy = 2,
    /// The stack is set up: weak references to functions that MPI lacks become null, and an MPI with QMPI keeps its own functions.
    Stack = 3,
}

/// Does `what` with all objects that there are.
pub(crate) fn see_to_all(what: All) {
    DUE.store(what as u8, Ordering::Release);
    under_lock();
}

/// Sees to objects that were opened since the last look.
pub(crate) fn deal_with_new() {
    if DEALT_WITH.load(Ordering::Acquire) != count() {
        under_lock();
    }
}

/// Has [`see_to_new`] called while this thread has the lock. May be nested.
fn under_lock() {
    // SAFETY: the name is a C string, and this library, the caller, is among the objects that are searched.
    unsafe { glibc::dlsym()(libc::RTLD_DEFAULT, c"qmpi_with_linker_lock".as_ptr()) };
}

/// The function behind the symbol. `ld.so` may call it for a look-up of somebody else's as well, which does no harm.
pub(crate) extern "C" fn resolve() -> usize {
    // SAFETY: `dlsym` calls this function under the lock; nothing in this library or elsewhere has a reference to the symbol, for which
    // `ld.so` would call it while it binds an object.
    see_to_new(&unsafe { LinkerLock::held() });
    // An address that nothing uses; null would look like a failure.
    (resolve as extern "C" fn() -> usize as *const ()).addr()
}

/// Deals with what is due. Comes back to itself where `libqmpi_core.so` opens libraries meanwhile: then with these alone.
fn see_to_new(lock: &LinkerLock) {
    let now = count();
    let before = BEGUN.swap(now, Ordering::Relaxed);
    let is_outermost = DEALT_WITH.load(Ordering::Relaxed) == before;
    match DUE.swap(0, Ordering::Acquire) {
        due if due == All::WithoutMpi as u8 => weak::clear_in_last(lock, usize::MAX),
        due if due == All::PassBy as u8 => pass_through::enter(lock, usize::MAX, true),
        due if due == All::Stack as u8 => {
            weak::clear_in_last(lock, usize::MAX);
            mpi_with_qmpi::keep_its_own(lock, usize::MAX);
        }
        due if due == All::Nothing as u8 || before == now => {}
        // What was opened last stands at the end of the list. Objects that were there before may be among so many, where others have
        // been closed again; looking at them twice does no harm.
        _ => opened(lock, usize::try_from(now.saturating_sub(before)).unwrap_or(usize::MAX)),
    }
    if is_outermost {
        DEALT_WITH.store(BEGUN.load(Ordering::Relaxed), Ordering::Release);
    }
}

/// Deals with the objects that were opened last, so many of them.
fn opened(lock: &LinkerLock, count: usize) {
    // Under `qmpi run --mpir` the core is open where there is no stack, too.
    let is_open = core_library::open_already().is_some();
    let has_stack = if environment::names_a_stack() {
        is_open || objects::has_mpi()
    } else {
        is_open && !environment::is_under_mpir()
    };
    if has_stack {
        weak::clear_in_last(lock, count);
        (core_library::functions().objects_opened)();
    } else {
        pass_through::enter(lock, count, false);
    }
}

/// How many objects `ld.so` has ever opened.
fn count() -> u64 {
    glibc::find_object(|info| Some(info.generation().0)).unwrap_or(0)
}
