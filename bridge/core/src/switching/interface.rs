//! The functions of `qmpix.h` that switch layers and exchange their functions.
#![expect(unsafe_code, reason = "C functions that write through pointers of their callers")]

use std::ffi::{CStr, c_char, c_int};
use std::sync::PoisonError;

use qmpi_abi::FnId;
use qmpi_ring::core_functions::AnyFunction;

use super::functions::LINKS;
use super::{SWITCHES, Switches};
use crate::qmpi::{Class, function_of};

/// Does something with the layer of this number; `MPI_ERR_ARG`: there is none that can be switched.
fn with(tool: c_int, act: impl FnOnce(&Switches, usize)) -> c_int {
    let switches = SWITCHES.lock().unwrap_or_else(PoisonError::into_inner);
    let found = switches.as_ref().and_then(|switches| {
        let index = switches.tools.iter().position(|known| known.0 == tool)?;
        act(switches, index);
        Some(())
    });
    found.map_or(Class::Arg, |()| Class::Success).code()
}

/// Switches a layer on.
pub(crate) extern "C" fn enable(tool: c_int) -> c_int {
    with(tool, |switches, index| switches.words.set(index, true))
}

/// Switches a layer off.
pub(crate) extern "C" fn disable(tool: c_int) -> c_int {
    with(tool, |switches, index| switches.words.set(index, false))
}

/// Stores whether a layer is on.
pub(crate) extern "C" fn is_enabled(tool: c_int, flag: *mut c_int) -> c_int {
    if flag.is_null() {
        return Class::Arg.code();
    }
    // SAFETY: not null, so a variable of the caller's.
    with(tool, |switches, index| unsafe { flag.write(c_int::from(switches.words.is_on(index))) })
}

/// Puts another function in the place of one of a layer's.
pub(crate) extern "C" fn set_function(tool: c_int, value: c_int, new: AnyFunction, old: *mut usize) -> c_int {
    replace(tool, function_of(tool, value), new, old)
}

/// The same by name.
pub(crate) extern "C" fn set_function_name(
    tool: c_int,
    name: *const c_char,
    new: AnyFunction,
    old: *mut usize,
) -> c_int {
    if name.is_null() {
        return Class::Arg.code();
    }
    // SAFETY: the caller passes a C string.
    let name = unsafe { CStr::from_ptr(name) };
    replace(tool, name.to_str().ok().and_then(FnId::by_name), new, old)
}

fn replace(tool: c_int, id: Option<FnId>, new: AnyFunction, old: *mut usize) -> c_int {
    let Some((id, new)) = id.zip(new) else { return Class::Arg.code() };
    let Some(before) = LINKS.replace(tool, id, new as usize) else { return Class::Arg.code() };
    if !old.is_null() {
        // SAFETY: not null, so a variable of the caller's.
        unsafe { old.write(before) };
    }
    Class::Success.code()
}
