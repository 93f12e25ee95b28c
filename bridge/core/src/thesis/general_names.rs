//! Functions of the prototype under names so general that `libqmpi.so`, which is preloaded, must not export them: it would take
//! them from programs that use them for something else. `qmpi_thesis.h` has them; for a tool that was compiled without it they
//! are put at the end of the process's scope.
#![expect(unsafe_code, reason = "C functions that follow pointers of their callers")]

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

use qmpi_elf::Tool;
use qmpi_loader::LoadError;
use qmpi_loader::process::{dlsym, scope_end};
use qmpi_ring::thesis::{DynamicLib, Vector};

/// `vector_get(v, index)` of the prototype.
extern "C" fn vector_get(vector: *const Vector, index: c_int) -> *const DynamicLib {
    // SAFETY: the caller passes what its wrapper got.
    unsafe { Vector::layer(vector, index) }.map_or(std::ptr::null(), std::ptr::from_ref)
}

/// `vector_total(v)` of the prototype.
extern "C" fn vector_total(vector: *const Vector) -> c_int {
    // SAFETY: the caller passes what its wrapper got.
    unsafe { vector.as_ref() }.map_or(0, |vector| vector.total)
}

/// The prototype's names that are no exports, where `tool` wants one of them.
///
/// # Errors
/// When they cannot be added to the process.
pub(crate) fn provide_general_names(tool: &Tool) -> Result<(), LoadError> {
    static DONE: AtomicBool = AtomicBool::new(false);
    let names: [(&str, usize); 3] = [
        ("exec_func", dlsym::global(c"QMPI_Exec_func").unwrap_or(0)),
        ("vector_get", (vector_get as *const ()).addr()),
        ("vector_total", (vector_total as *const ()).addr()),
    ];
    let wants = |name: &str| tool.closure.root().imports().any(|symbol| symbol.name == name);
    if !names.iter().any(|(name, _)| wants(name)) || DONE.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    scope_end::add("libqmpi-thesis.so", &names)
}
