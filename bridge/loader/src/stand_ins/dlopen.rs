//! `dlopen` of the program, and of tools that wrap it for the program.
//!
//! References of the program's objects are bound to these functions (`core/src/process/stand_ins.rs`): what stands for other libraries is
//! made before the program opens one.
#![expect(unsafe_code, reason = "a C string of the program")]

use std::arch::naked_asm;
use std::ffi::{CStr, c_char};

use crate::process::loader_lock;
use crate::stand_ins::{plugins, tools};

/// `dlopen(file, mode)` of the program, or of a tool that wraps it and goes on to it for the program. `ld.so` opens the file in the namespace of
/// whoever it returns to: where that is a tool, this function calls in its place; where it is the program, which has called or whose call a
/// wrapper has passed on by a jump, that stays the caller.
#[unsafe(naked)]
extern "C" fn for_program() {
    naked_asm!(qmpi_ring::assembly!("dlopen_for_program"), goes_on = sym goes_on, real = sym libc::dlopen)
}

/// The address of `dlopen` for the program.
pub fn dlopen_for_program() -> usize {
    (for_program as *const ()).addr()
}

/// How a call of `dlopen` goes on, in the registers of a result.
#[repr(C)]
struct GoesOn {
    /// What is to be opened: the file that was asked for, or what stands for it.
    file: *const c_char,
    /// The call returns to an object of the program's namespace.
    returns_to_program: usize,
}

/// Makes what may be needed when the program opens `file`; `caller` is the return address.
extern "C" fn goes_on(file: *const c_char, caller: usize) -> GoesOn {
    let of_program = qmpi_dynamic::objects::find(|info| info.segments().contains(caller).then_some(1));
    let file = loader_lock::with(|lock| {
        plugins::show(lock);
        // SAFETY: null, or a C string, as `dlopen` wants.
        let name = (!file.is_null()).then(|| unsafe { CStr::from_ptr(file) });
        name.and_then(|name| tools::instead_of(name, lock)).map_or(file, CStr::as_ptr)
    });
    GoesOn { file, returns_to_program: of_program.unwrap_or(0) }
}
