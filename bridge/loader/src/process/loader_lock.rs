//! `ld.so`'s own lock (`dl_load_lock`), as the lock of everything that loads and publishes.
//!
//! Whoever loads a library takes that lock, and constructors run under it. With a lock of our own beside it two threads could wait
//! for each other: one that loads a tool has ours and wants `ld.so`'s; one in a constructor that calls MPI has `ld.so`'s and wants
//! ours. So there is none: what must not happen twice at once happens under `ld.so`'s lock, which is recursive, is let go of in
//! the child of a `fork`, and which every thread that may come here can take.
//!
//! glibc has no function that takes it. But `dlsym` holds it for as long as it runs, in every version of glibc
//! (`dlfcn/dlsym.c: __dlsym`), and for a symbol of the type `STT_GNU_IFUNC` it calls the function behind the symbol to learn the
//! address (`elf/dl-sym.c: do_sym`). `qmpi_under_loader_lock` is such a symbol, and the function behind it does the work.
#![expect(unsafe_code, reason = "asks dlsym, and defines a symbol of type STT_GNU_IFUNC")]

use std::arch::naked_asm;
use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, Ordering};

use qmpi_dynamic::LinkerLock;
use qmpi_system::log;

use crate::link_map::{self, Handle, object_at};
use crate::process::dlsym;

/// The name under which [`qmpi_under_loader_lock`] is exported. No code refers to that: `ld.so` would resolve the reference by a call.
const SYMBOL: &CStr = c"qmpi_under_loader_lock";

/// For the linker a function that is chosen at run time: `dlsym` calls it, under its lock, to learn the address.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn qmpi_under_loader_lock() {
    naked_asm!(qmpi_ring::assembly!("under_loader_lock"), resolve = sym resolve)
}

thread_local! {
    /// What this thread wants to do under the lock.
    static WORK: Work = const { Work(Cell::new(None)) };
}

/// The alignment is that of all thread-local variables of the library. Sanitizers (up to those of gcc 12) take a block of such variables that begins 16
/// bytes into a page for one with a header of glibc 2.19's, and search memory at an address that they read from it.
#[repr(align(64))]
struct Work(Cell<Option<NonNull<dyn FnMut()>>>);

/// Does `work` while this thread has `ld.so`'s lock. May be nested.
pub fn with<R>(work: impl FnOnce(&LinkerLock) -> R) -> R {
    let mut work = Some(work);
    let mut result = None;
    let mut run = || {
        // SAFETY: `dlsym` calls this function, and holds the lock until it has returned.
        let lock = unsafe { LinkerLock::held() };
        result = work.take().map(|work| work(&lock));
    };
    let run: &mut dyn FnMut() = &mut run;
    // SAFETY: only the lifetime changes; `resolve` takes the pointer before this function returns.
    let run = unsafe { std::mem::transmute::<&mut dyn FnMut(), &'static mut dyn FnMut()>(run) };
    WORK.with(|place| place.0.set(Some(NonNull::from(run))));
    // SAFETY: the handle is this library's, which stays; the name is a C string.
    unsafe { dlsym::dlsym()(own_handle(), SYMBOL.as_ptr()) };
    result.unwrap_or_else(|| log::fatal("the C library's dlsym does not know indirect functions", None))
}

/// The function behind the symbol.
pub(crate) extern "C" fn resolve() -> usize {
    if let Some(mut work) = WORK.with(|place| place.0.take()) {
        // SAFETY: `with` of this thread waits for this function to return.
        unsafe { work.as_mut()() };
    }
    // Not null: that would be a failure.
    (resolve as *const ()).addr()
}

/// `dlopen`'s handle of the library that this code is part of.
fn own_handle() -> *mut c_void {
    static HANDLE: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
    let mut handle = HANDLE.load(Ordering::Relaxed);
    if handle.is_null() {
        let own = object_at((resolve as *const ()).addr());
        if let Some(map) = own.and_then(Handle::map) {
            // Of a library that was not opened but preloaded, `ld.so` makes what a look-up by handle needs now.
            let opened = link_map::open(map.name(), libc::RTLD_NOLOAD | libc::RTLD_LAZY);
            handle = opened.map_or(handle, |opened| opened.0);
        }
        HANDLE.store(handle, Ordering::Relaxed);
    }
    handle
}
