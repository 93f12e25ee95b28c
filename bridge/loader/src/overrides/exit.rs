//! `__cxa_atexit`, `on_exit`, `__cxa_at_quick_exit`, `__cxa_thread_atexit_impl` and `__cxa_finalize` of a tool: see [`crate::exit`].
//!
//! `atexit` and `at_quick_exit` are in the tool's own file (glibc's `libc_nonshared.a`), and call the first and the third of them.

use std::ffi::c_int;

use crate::end::handlers::RegisteredBy;
use crate::exit;
use crate::instance::Instance;

/// `__cxa_atexit(function, argument, object)`.
pub(crate) extern "C" fn at_exit(
    function: usize,
    argument: usize,
    object: usize,
    instance: &'static Instance,
) -> c_int {
    exit::register(instance, RegisteredBy::AtExit, function, argument, object)
}

/// `on_exit(function, argument)`.
pub(crate) extern "C" fn on_exit(function: usize, argument: usize, _: usize, instance: &'static Instance) -> c_int {
    exit::register(instance, RegisteredBy::OnExit, function, argument, 0)
}

/// `__cxa_at_quick_exit(function, object)`.
pub(crate) extern "C" fn at_quick_exit(function: usize, object: usize, _: usize, instance: &'static Instance) -> c_int {
    exit::register(instance, RegisteredBy::AtQuickExit, function, 0, object)
}

/// `__cxa_finalize(object)`.
pub(crate) extern "C" fn finalize(object: usize, _: usize, _: usize, instance: &'static Instance) {
    exit::finalize(instance, object);
}

/// `__cxa_thread_atexit_impl(function, argument, object)`.
pub(crate) extern "C" fn at_thread_exit(
    function: usize,
    argument: usize,
    object: usize,
    instance: &'static Instance,
) -> c_int {
    exit::thread_local::register(instance, function, argument, object)
}
