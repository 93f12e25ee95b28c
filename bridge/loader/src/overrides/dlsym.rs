//! `dlsym` and `dlvsym` of a tool.
//!
//! Several tools have no other way to the next function than `dlsym(RTLD_NEXT, "MPI_Send")`. In a namespace nothing comes next, so a name
//! of MPI gets its next link. For other names glibc answers; where it would find nothing, the process is asked, as it
//! would be under `LD_PRELOAD`.
#![expect(unsafe_code, reason = "reads C strings that the tool passes")]

use std::ffi::{CStr, c_char, c_void};

use crate::Instance;
use crate::namespace::Namespace;
use crate::namespace::head;
use crate::namespace::link_map::Handle;

/// The address to return to the tool, or null if glibc shall answer. `caller` is the return address of the call.
pub(crate) extern "C" fn decide(
    handle: *mut c_void,
    name: *const c_char,
    instance: &'static Instance,
    caller: usize,
) -> *const c_void {
    if name.is_null() {
        return std::ptr::null();
    }
    // SAFETY: the tool passes a C string, as `dlsym` wants.
    let name = unsafe { CStr::from_ptr(name) };
    let found = match instance.namespace(caller) {
        _ if instance.is_base => in_base(instance, handle, name),
        Some(namespace) => address(instance, namespace, handle, name),
        None => None,
    };
    std::ptr::without_provenance(found.unwrap_or(0))
}

fn address(instance: &Instance, namespace: &Namespace, handle: *mut c_void, name: &CStr) -> Option<usize> {
    let next = handle == libc::RTLD_NEXT;
    let default = handle == libc::RTLD_DEFAULT;
    let head = handle == namespace.head().0;
    if head::is_mpi_function_c(name) {
        let of_mpi = namespace.provider_of(Handle(handle)).is_some_and(qmpi_elf::is_mpi_soname);
        // RTLD_DEFAULT finds the tool's own function first, and then the head's.
        return if next || head || of_mpi { below(instance, name) } else { None };
    }
    if !(next || default || head) {
        return None;
    }
    // The head brought everything, so it finds what any of them has; a clone is not brought by the first object.
    let tool = instance.handle.get();
    let in_scope = namespace.head().find(name).is_some() || tool.is_some_and(|tool| tool.find(name).is_some());
    if in_scope {
        return None;
    }
    opened_global(instance, namespace, name).or_else(|| crate::process::dlsym::global(name))
}

/// For a tool of the base namespace: its next function is that of the chain, however it asks.
fn in_base(instance: &Instance, handle: *mut c_void, name: &CStr) -> Option<usize> {
    let text = name.to_str().ok()?;
    let link = instance.link_by_name(text)?;
    let goes_down = if handle == libc::RTLD_DEFAULT {
        // The plain name is that of the first tool in the process.
        text.starts_with('P')
    } else {
        handle == libc::RTLD_NEXT || Handle(handle).find(name).is_some_and(|found| instance.process.is_mpi_code(found))
    };
    goes_down.then_some(link)
}

/// The next link for a C function; another function of MPI as it is.
fn below(instance: &Instance, name: &CStr) -> Option<usize> {
    instance.link_by_name(name.to_str().ok()?).or_else(|| instance.process.function(name))
}

/// Looks in the libraries that the tool opened with RTLD_GLOBAL.
fn opened_global(instance: &Instance, namespace: &Namespace, name: &CStr) -> Option<usize> {
    instance.opened_global.iter().find_map(|library| namespace.loaded(library)?.find(name))
}
