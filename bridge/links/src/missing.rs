//! Functions that a tool refers to and that nothing defines: loading must not fail for them, calling must say so.
//!
//! A library that the program opens later may define one after all. A tool that is bound lazily gets it then, so a stub looks for the
//! name when it is called.
#![expect(unsafe_code, reason = "machine code")]

use std::ffi::CString;
use std::sync::atomic::{AtomicUsize, Ordering};

use qmpi_overrides::glibc as dlsym;
use qmpi_system::log;

use crate::arch::machine_code;
use crate::trampoline;

machine_code!(["missing"], { destination = sym destination });

unsafe extern "C" {
    /// The payload is a [`MissingFunction`].
    fn qmpi_missing();
}

/// What a tool would call if it existed.
struct MissingFunction {
    tool: String,
    function: String,
    reason: String,
    hint: &'static str,
    /// The name to look for when it is called, if the process may define it by then.
    later: Option<CString>,
    /// Where it was found; 0: nowhere so far.
    found: AtomicUsize,
}

/// Makes a function that says that `function` is missing, and ends the process.
pub fn stub(tool: &str, function: &str, reason: String, hint: &'static str) -> usize {
    allocate(tool, function, reason, hint, None)
}

/// Makes a function that goes on to what the process defines under its name when it is called, and else does the same.
pub fn stub_until_defined(tool: &str, function: &str, reason: String, hint: &'static str) -> usize {
    allocate(tool, function, reason, hint, CString::new(function).ok())
}

fn allocate(tool: &str, function: &str, reason: String, hint: &'static str, later: Option<CString>) -> usize {
    let (tool, function, found) = (tool.into(), function.into(), AtomicUsize::new(0));
    let missing = MissingFunction { tool, function, reason, hint, later, found };
    trampoline::allocate(qmpi_missing, Box::leak(Box::new(missing)))
}

/// Where a stub goes on. If that is nowhere, the process ends here.
extern "C" fn destination(missing: &MissingFunction) -> usize {
    let MissingFunction { tool, function, reason, hint, later, found } = missing;
    match found.load(Ordering::Relaxed) {
        0 => {}
        address => return address,
    }
    match later.as_deref().and_then(dlsym::global) {
        Some(address) => {
            found.store(address, Ordering::Relaxed);
            address
        }
        None => log::fatal(&format!("{tool}: it called {function}, {reason}"), Some(hint)),
    }
}
