//! The process starts: which command makes reports, glibc's own functions, handlers.
//!
//! As the last of what is preloaded, this library is initialized before `libqmpi.so`, and so before tools are loaded.
#![expect(unsafe_code, reason = "an init_array entry, which reads the environment")]

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicBool, Ordering};

use crate::{actions, alternate_stack, exits, threads};

/// The variable that holds the path of the command.
const VARIABLE: &CStr = c"QMPI_CRASH_REPORT";
/// `PATH_MAX`
const PATH: usize = 4096;

/// The path of the command, written once before any handler is set.
struct Command(UnsafeCell<[u8; PATH]>);

// SAFETY: written by the constructor alone, before it is read.
unsafe impl Sync for Command {}

static COMMAND: Command = Command(UnsafeCell::new([0; PATH]));
static STARTED: AtomicBool = AtomicBool::new(false);

#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = on_load;

extern "C" fn on_load() {
    // SAFETY: a C string. Constructors run in one thread.
    let value = unsafe { libc::getenv(VARIABLE.as_ptr()) };
    if value.is_null() {
        return;
    }
    // SAFETY: the value of a variable is a C string.
    let value = unsafe { CStr::from_ptr(value) }.to_bytes_with_nul();
    if value.first() != Some(&b'/') || value.len() > PATH {
        return;
    }
    // SAFETY: the value fits, and nobody reads the place yet.
    unsafe { core::ptr::copy_nonoverlapping(value.as_ptr(), COMMAND.0.get().cast::<u8>(), value.len()) };
    exits::find();
    threads::find();
    alternate_stack::give_to_first_thread();
    STARTED.store(true, Ordering::Release);
    actions::take();
}

/// Are reports wanted, and is everything found?
pub(crate) fn is_done() -> bool {
    STARTED.load(Ordering::Acquire)
}

/// The path of the command.
pub(crate) fn command() -> *const c_char {
    COMMAND.0.get().cast::<c_char>().cast_const()
}
