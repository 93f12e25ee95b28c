//! Destructors of thread-local objects of C++ (`thread_local`), of the thread that ends the process.
//!
//! `exit` runs them before all exit handlers. A tool that is asked for something by a layer outside of its own later, at that
//! layer's end, would find its objects destroyed; so those of the first thread wait as exit handlers do. Those of other threads run when
//! these end.
#![expect(unsafe_code, reason = "registers with the C library, which hands the registered pointer back")]

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use crate::end::handlers::{RegisteredBy, Registration, State};
use crate::exit::{layers_outside_have_more_to_do, status};
use crate::instance::Instance;

unsafe extern "C" {
    /// glibc's part of `__cxa_thread_atexit`; the libc crate lacks it.
    fn __cxa_thread_atexit_impl(
        function: extern "C" fn(*mut c_void),
        argument: *mut c_void,
        object: *mut c_void,
    ) -> c_int;
}

static BEFORE_DESTRUCTORS: OnceLock<extern "C" fn()> = OnceLock::new();

/// Lets the function be called before each destructor of an object of the first thread: `exit` runs these before exit handlers.
pub fn before_destructors(function: extern "C" fn()) {
    BEFORE_DESTRUCTORS.get_or_init(|| function);
}

/// What a tool registers.
type RegisteredDestructor = (Registration, &'static Instance);

/// `__cxa_thread_atexit_impl(function, argument, object)` of a tool.
pub(crate) extern "C" fn register(
    function: usize,
    argument: usize,
    object: usize,
    instance: &'static Instance,
) -> c_int {
    let registration = Registration { kind: RegisteredBy::ThreadLocal, function, argument, object: 0, at_load: false };
    let registered: *mut RegisteredDestructor = Box::into_raw(Box::new((registration, instance)));
    // SAFETY: `thread_ends` takes what it is given back.
    unsafe { __cxa_thread_atexit_impl(thread_ends, registered.cast(), std::ptr::with_exposed_provenance_mut(object)) }
}

extern "C" fn thread_ends(registered: *mut c_void) {
    // SAFETY: made by `register`; the C library passes it on once.
    let (registration, instance) = *unsafe { Box::from_raw(registered.cast::<RegisteredDestructor>()) };
    let is_of_first_thread = u32::try_from(qmpi_system::thread::number()) == Ok(std::process::id());
    if let Some(function) = BEFORE_DESTRUCTORS.get().filter(|_| is_of_first_thread) {
        function();
    }
    let handler = instance.end.handlers.add_due(registration);
    if !is_of_first_thread || !layers_outside_have_more_to_do(instance) {
        // Unless another thread has taken it.
        if handler.change(State::Due, State::Called) {
            handler.call(status());
            handler.change(State::Called, State::Free);
        }
    }
}
