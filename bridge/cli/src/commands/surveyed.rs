//! `qmpi survey`: the process in which tools that register themselves are loaded and asked, for `list`.
#![expect(unsafe_code, reason = "a function of libqmpi_core.so by its name")]

use std::ffi::{CString, c_char};
use std::path::Path;

use libloading::Library;

use crate::Error;

/// Loads the tools of the request in this process, prints what they answer, and ends the process.
pub(crate) fn answer(core: &Path, request: &str) -> Result<(), Error> {
    type Survey = unsafe extern "C" fn(*const c_char);
    let fail = |error: libloading::Error| {
        Error::failed(
            format!("{}: {error}", core.display()),
            "libqmpi_core.so belongs into the directory of libqmpi.so",
        )
    };
    let request = CString::new(request).unwrap_or_default();
    // SAFETY: opening libqmpi_core.so runs its constructors, which are those of Rust's runtime alone.
    let core = unsafe { Library::new(core) }.map_err(fail)?;
    // SAFETY: `qmpi_core_survey` of the core, which is built with this command, has this type.
    let survey = unsafe { core.get::<Survey>(b"qmpi_core_survey\0") }.map_err(fail)?;
    // SAFETY: the function takes a C string, which lives here until it returns; no other thread of this process uses the core.
    unsafe { survey(request.as_ptr()) };
    // SAFETY: _exit has no conditions. Exit handlers of tools that were never used must not run.
    unsafe { libc::_exit(0) }
}
