//! `dlopen` of the program, and of tools that wrap it for the program.
//!
//! References of the program's objects are bound to these functions (`core/src/process/stand_ins.rs`): what stands for other libraries is
//! made before the program opens one.
#![expect(unsafe_code, reason = "a C string of the program")]

use std::arch::naked_asm;
use std::ffi::{CStr, c_char};

use crate::process::loader_lock;
use crate::stand_ins::{plugins, tools};

/// `dlopen(file, mode)` of the program: with the file that [`show`] returns on to the process's, which still sees the program as
/// its caller.
#[unsafe(naked)]
extern "C" fn of_program() {
    naked_asm!(assembly!("dlopen_of_program"), show = sym show, real = sym libc::dlopen)
}

/// The address of `dlopen` for the program.
pub fn dlopen_of_program() -> usize {
    (of_program as *const ()).addr()
}

/// `dlopen(file, mode)` as a tool that wraps it goes on to it, for the program. `ld.so` opens the file in the namespace of whoever it returns
/// to: where that is the tool, this function calls in its place; where the wrapper has jumped here, the program stays the caller.
#[unsafe(naked)]
pub(crate) extern "C" fn next() {
    naked_asm!(assembly!("next_dlopen"), goes_on = sym goes_on, real = sym libc::dlopen)
}

/// Makes what may be needed when the program opens `file`, and returns what it is to open: this file, or what stands for it.
extern "C" fn show(file: *const c_char) -> *const c_char {
    loader_lock::with(|lock| {
        plugins::show(lock);
        // SAFETY: null, or a C string, as `dlopen` wants.
        let name = (!file.is_null()).then(|| unsafe { CStr::from_ptr(file) });
        name.and_then(|name| tools::instead_of(name, lock)).map_or(file, CStr::as_ptr)
    })
}

/// How a call of `dlopen` goes on that a tool's wrapper passes on for the program, in the registers of a result.
#[repr(C)]
struct GoesOn {
    /// The file to open.
    file: *const c_char,
    /// The call returns to the program, as the wrapper has jumped.
    returns_to_program: usize,
}

/// Makes what [`show`] makes for `file`; `caller` is the return address.
extern "C" fn goes_on(file: *const c_char, caller: usize) -> GoesOn {
    let of_program = qmpi_dynamic::objects::find(|info| info.segments().contains(caller).then_some(1));
    GoesOn { file: show(file), returns_to_program: of_program.unwrap_or(0) }
}
