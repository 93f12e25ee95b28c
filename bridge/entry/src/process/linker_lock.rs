//! How this library gets `ld.so`'s lock, under which it writes into the objects of the process.
//!
//! glibc has no function that takes the lock. But `dlsym` holds it for as long as it runs (`dlfcn/dlsym.c: __dlsym`), and calls the function
//! behind a symbol of the type STT_GNU_IFUNC to learn the address (`elf/dl-sym.c: do_sym`). `qmpi_with_linker_lock` (`arch/`) is such a
//! symbol. `libqmpi_core.so` gets the lock in the same way (`loader/src/process/loader_lock.rs`).
//!
//! `dl_iterate_phdr` takes another lock of `ld.so`'s, that of its list of objects. This one does not wait for a thread that has mapped and
//! listed an object and is relocating it.
#![expect(unsafe_code, reason = "asks dlsym")]

use core::ffi::CStr;

use qmpi_dynamic::LinkerLock;

use crate::process::{glibc, opened};

const SYMBOL: &CStr = c"qmpi_with_linker_lock";

/// Has [`opened::see_to_new`] called while this thread has the lock. May be nested.
pub(crate) fn see_to_new() {
    // SAFETY: the name is a C string, and this library, the caller, is among the objects that are searched.
    unsafe { glibc::dlsym()(libc::RTLD_DEFAULT, SYMBOL.as_ptr()) };
}

/// The function behind the symbol. `ld.so` may call it for a look-up of somebody else's as well, which does no harm.
pub(crate) extern "C" fn resolve() -> usize {
    // SAFETY: `dlsym` calls this function under the lock; nothing in this library or elsewhere has a reference to the symbol, for which
    // `ld.so` would call it while it binds an object.
    let lock = unsafe { LinkerLock::held() };
    opened::see_to_new(&lock);
    // An address that nothing uses; null would look like a failure.
    (resolve as extern "C" fn() -> usize as *const ()).addr()
}
