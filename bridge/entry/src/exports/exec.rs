//! `exec_func(f, level, index, vector, args...)` of the 2018 prototype: calls `f(args..., next_level, vector)`.
//!
//! There is a stub for each number of arguments (`arch/*/exec_stubs.s`), which moves them down. Each is a tail jump: no frame, no trace in a
//! back trace, and whatever `f` returns comes back, a double as well.
#![expect(unsafe_code, reason = "naked functions")]
#![allow(non_snake_case, unreachable_pub, reason = "reached by name from other objects")]

use core::arch::{global_asm, naked_asm};
use core::mem::offset_of;

use qmpi_abi::thesis::{self, COUNT};
use qmpi_ring::thesis::{Cell, DynamicLib, Vector};

use crate::exports::thesis::misused;
use qmpi_ring::assembly;

/// The largest number of arguments that there is a stub for; no function of the table has more.
const MAX_ARGS: u8 = 13;

/// By the number in the thesis's table: how many arguments.
static ARGS: [u8; COUNT] = {
    let mut args = [0; COUNT];
    let mut index = 0;
    while index < COUNT {
        if let Some(id) = thesis::function(index) {
            args[index] = qmpi_abi::FUNCTIONS[id.index()].args;
        }
        assert!(args[index] <= MAX_ARGS);
        index += 1;
    }
    args
};

// A cell is found by a shift, an item by a factor of an address.
const _: () = assert!(size_of::<Cell>() == 16 && size_of::<&DynamicLib>() == 8);

global_asm!(assembly!("exec_stubs"));

unsafe extern "C" {
    static qmpi_exec_table: [usize; MAX_ARGS as usize + 1];
}

/// `exec_func(f, level, index, vector, args...)`: calls what comes next.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn QMPI_Exec_func() {
    naked_asm!(
        assembly!("exec_func"),
        misused = sym misused,
        count = const COUNT,
        total = const offset_of!(Vector, total),
        items = const offset_of!(Vector, items),
        level = const offset_of!(DynamicLib, table) + offset_of!(Cell, level),
        args = sym ARGS,
        stubs = sym qmpi_exec_table,
    )
}

/// The stub for so many arguments itself: called as [`QMPI_Exec_func`], with the next level and the number of arguments.
#[cfg(all(test, not(miri)))]
#[unsafe(naked)]
extern "C" fn exec_stub() {
    naked_asm!(assembly!("exec_test"), stubs = sym qmpi_exec_table)
}

#[cfg(all(test, not(miri)))] // machine code
mod tests;
