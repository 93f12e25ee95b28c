//! The C functions of `qmpi.h`: MPICH's names, the draft's names, and look-up by name.
//!
//! All have local semantics and return an MPI error class: `MPI_ERR_ARG` for an argument that is null, unknown or out of
//! range, `MPI_ERR_OTHER` for a call at the wrong time. None ever crashes, whatever it is given.
#![expect(unsafe_code, reason = "exported C functions that write through pointers of their callers")]
#![allow(non_snake_case, reason = "names of MPI")]
#![allow(unreachable_pub, reason = "reached by name from other objects")]

use std::ffi::{CStr, c_char, c_int, c_void};

use qmpi_abi::FnId;

use super::class::Class;
use super::{registry, tools};

/// `QMPI_Context`, a struct of one pointer, as it is passed: in a register. Here, the application's return address.
type Context = *mut c_void;
/// `void (*)(void)`, possibly null.
type Function = Option<extern "C" fn()>;

fn register_name(name: *const c_char, init: Option<registry::Init>) -> Class {
    let (Some(name), Some(init)) = (text(name), init) else { return Class::Arg };
    registry::register(name, init)
}

fn register_storage(tool: c_int, storage: *mut c_void) -> Class {
    if tools::is_published() {
        return Class::Other;
    }
    tools::change(tool, |draft| draft.set_storage(storage)).map_or(Class::Arg, |()| Class::Success)
}

fn register_function(tool: c_int, id: Option<FnId>, function: Function) -> Class {
    if tools::is_published() {
        return Class::Other;
    }
    let (Some(id), Some(function)) = (id, function) else { return Class::Arg };
    tools::change(tool, |draft| draft.set_function(id, function as usize)).map_or(Class::Arg, |()| Class::Success)
}

/// Stores what comes next.
///
/// # Safety
/// Pointers that are not null are writable.
#[inline]
unsafe fn store_next(next: Option<tools::Next>, function: *mut usize, tool: *mut c_int) -> c_int {
    match next {
        Some(next) if !function.is_null() && !tool.is_null() => {
            // SAFETY: not null, so writable.
            unsafe { function.write(next.function) };
            // SAFETY: as above.
            unsafe { tool.write(next.tool) };
            0
        }
        // Before everything is set up nobody can know what comes next.
        None if !tools::is_published() => Class::Other.code(),
        _ => Class::Arg.code(),
    }
}

/// Stores the tool's storage.
///
/// # Safety
/// As for [`store_next`].
#[inline]
unsafe fn store_storage(tool: c_int, storage: *mut *mut c_void) -> c_int {
    match tools::storage(tool) {
        Some(address) if !storage.is_null() => {
            // SAFETY: not null, so writable.
            unsafe { storage.write(address) };
            0
        }
        _ => Class::Arg.code(),
    }
}

/// Stores the calling address.
///
/// # Safety
/// As for [`store_next`].
#[inline]
unsafe fn store_address(context: Context, address: *mut *mut c_void) -> c_int {
    if address.is_null() {
        return Class::Arg.code();
    }
    // SAFETY: not null, so writable.
    unsafe { address.write(context) };
    0
}

fn text<'a>(name: *const c_char) -> Option<&'a str> {
    if name.is_null() {
        return None;
    }
    // SAFETY: the caller passes a C string.
    unsafe { CStr::from_ptr(name) }.to_str().ok()
}

/// Defines the same functions under several names.
macro_rules! interface {
    ($( $(#[$doc:meta])* [$($name:ident),+] $args:tt $body:block )*) => {
        $( interface!(@each [$($name)+] { $(#[$doc])* } $args $body); )*
    };
    (@each [] $doc:tt $args:tt $body:block) => {};
    (@each [$first:ident $($rest:ident)*] $doc:tt $args:tt $body:block) => {
        interface!(@one $first $doc $args $body);
        interface!(@each [$($rest)*] $doc $args $body);
    };
    (@one $name:ident { $(#[$doc:meta])* } ($($arg:ident: $type:ty),*) $body:block) => {
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($arg: $type),*) -> c_int $body
    };
}

interface! {
    /// Registers a tool's name and its init callback; before MPI is initialized.
    [QMPI_Register_tool_name, MPI_Register_tool_name](name: *const c_char, init: Option<registry::Init>) {
        register_name(name, init).code()
    }

    /// Registers what `QMPI_Get_tool_storage` gives back; in the init callback.
    [QMPI_Register_tool_storage, MPI_Register_tool_storage](tool: c_int, storage: *mut c_void) {
        register_storage(tool, storage).code()
    }

    /// Registers the function that is called for an enumerator; in the init callback.
    [QMPI_Register_function, MPI_Register_tool_function, MPI_Register_function](tool: c_int, value: c_int, function: Function) {
        register_function(tool, tools::function_of(value), function).code()
    }

    /// The same for a function by its name, such as `MPIX_Comm_agree`.
    [QMPIX_Register_function_by_name](tool: c_int, name: *const c_char, function: Function) {
        register_function(tool, text(name).and_then(FnId::by_name), function).code()
    }

    /// What to call next for an enumerator, and the id to pass; once all tools are initialized.
    [QMPI_Get_function, MPI_Get_next_tool_function, MPI_Get_function](tool: c_int, value: c_int, function: *mut usize, next: *mut c_int) {
        // SAFETY: the caller passes pointers to variables.
        unsafe { store_next(tools::next(tool, value), function, next) }
    }

    /// The same for a function by its name.
    [QMPIX_Get_function_by_name](tool: c_int, name: *const c_char, function: *mut usize, next: *mut c_int) {
        let found = text(name).and_then(FnId::by_name).and_then(|id| tools::next_by_id(tool, id));
        // SAFETY: the caller passes pointers to variables.
        unsafe { store_next(found, function, next) }
    }

    /// What the tool registered as its storage.
    [QMPI_Get_tool_storage, MPI_Get_tool_storage](_context: Context, tool: c_int, storage: *mut *mut c_void) {
        // SAFETY: the caller passes a pointer to a variable.
        unsafe { store_storage(tool, storage) }
    }

    /// Where the application called MPI.
    [QMPI_Get_calling_address, MPI_Get_calling_address](context: Context, address: *mut *mut c_void) {
        // SAFETY: the caller passes a pointer to a variable.
        unsafe { store_address(context, address) }
    }
}
