//! `__gmon_start__`, exported: what nearly every library calls before its constructors.
//!
//! The C library's `crti.o`, with which compilers begin a library, has DT_INIT call this function if there is one: programs that are compiled
//! for gprof have it. `ld.so` calls DT_INIT before the constructors in DT_INIT_ARRAY, when it has relocated everything that comes with
//! the library. A program for gprof has its own, which is found first.
#![expect(unsafe_code, reason = "exports an unmangled symbol")]
#![allow(unreachable_pub, reason = "it is reached by name from other objects")]

use crate::references::opened;
use crate::start;

/// Called by a library that is about to be initialized. Those that the program is linked with are looked at later, all at once.
#[unsafe(no_mangle)]
pub extern "C" fn __gmon_start__() {
    if start::is_loaded() {
        opened::deal_with_new();
    }
}
