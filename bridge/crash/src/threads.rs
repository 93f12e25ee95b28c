//! Threads get a stack for handlers before their function runs, and give it back when they end.
#![expect(unsafe_code, reason = "stands for pthread_create, and calls it by its address")]

use core::ffi::{c_int, c_void};
use core::mem::transmute;
use core::sync::atomic::{AtomicUsize, Ordering};

use libc::{pthread_attr_t, pthread_key_t, pthread_t};

use crate::alternate_stack::{give, map, take_back, unmap};

type Function = extern "C" fn(*mut c_void) -> *mut c_void;
type Create = unsafe extern "C" fn(*mut pthread_t, *const pthread_attr_t, Function, *mut c_void) -> c_int;

/// The next function of this name: glibc's, or a sanitizer's.
static CREATE: AtomicUsize = AtomicUsize::new(0);
/// The key of the thread's stack, and 1.
static KEY: AtomicUsize = AtomicUsize::new(0);

/// What a thread is to do: at the upper end of its stack for handlers, where none runs before it has been read.
#[repr(C)]
struct Begin {
    function: Function,
    argument: *mut c_void,
    memory: *mut c_void,
}

pub(crate) fn find() {
    CREATE.store(next(c"pthread_create"), Ordering::Relaxed);
    let mut key: pthread_key_t = 0;
    // SAFETY: the destructor takes what the thread has stored.
    if unsafe { libc::pthread_key_create(&raw mut key, Some(end)) } == 0 {
        KEY.store(key as usize + 1, Ordering::Release);
    }
}

/// What comes behind this library in the process under this name.
pub(crate) fn next(name: &core::ffi::CStr) -> usize {
    // SAFETY: a C string.
    unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }.addr()
}

/// # Safety
/// As of pthread_create(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    function: Function,
    argument: *mut c_void,
) -> c_int {
    let mut create = CREATE.load(Ordering::Relaxed);
    if create == 0 {
        create = next(c"pthread_create");
    }
    // SAFETY: a function of this name has this type.
    let create = unsafe { transmute::<usize, Create>(create) };
    let memory = if KEY.load(Ordering::Acquire) == 0 { core::ptr::null_mut() } else { map() };
    if memory.is_null() {
        // SAFETY: the caller's arguments.
        return unsafe { create(thread, attributes, function, argument) };
    }
    // SAFETY: inside of the mapping, at its end.
    let place = unsafe { memory.byte_add(crate::alternate_stack::SIZE - size_of::<Begin>()) }.cast::<Begin>();
    // SAFETY: mapped for writing, and aligned, as the size of a struct of three words is a multiple of a word.
    unsafe { place.write(Begin { function, argument, memory }) };
    // SAFETY: the caller's arguments; `begin` takes the place.
    let failed = unsafe { create(thread, attributes, begin, place.cast()) };
    if failed != 0 {
        unmap(memory);
    }
    failed
}

extern "C" fn begin(place: *mut c_void) -> *mut c_void {
    // SAFETY: what `pthread_create` has written.
    let Begin { function, argument, memory } = unsafe { place.cast::<Begin>().read() };
    give(memory);
    let key = KEY.load(Ordering::Acquire).saturating_sub(1) as pthread_key_t;
    // SAFETY: the key exists.
    unsafe { libc::pthread_setspecific(key, memory) };
    function(argument)
}

/// The thread ends.
unsafe extern "C" fn end(memory: *mut c_void) {
    take_back(memory);
    unmap(memory);
}
