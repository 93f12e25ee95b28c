//! `exec_func(f, level, index, vector, args...)` of the 2018 prototype: calls `f(args..., next_level, vector)`.
//!
//! Arguments of MPI functions are words; a variadic call passes them as any other (psABI 3.5.7). With n of them:
//!
//! | | `rdi` | `rsi` | `rdx` | `rcx` | `r8` | `r9` | `[rsp+8]` | `[rsp+16]` | `[rsp+24]` | `[rsp+32]` | `[rsp+40]` |
//! |---|---|---|---|---|---|---|---|---|---|---|---|
//! | before | f | level | index | vector | a1 | a2 | a3 | a4 | a5 | a6 | a7 |
//! | after, n = 3 | a1 | a2 | a3 | level | vector | | | | | | |
//! | after, n = 7 | a1 | a2 | a3 | a4 | a5 | a6 | a7 | level | vector | | |
//!
//! Everything moves down: n - 2 words of the stack become n - 4, inside the incoming argument area, which belongs to the
//! callee. So each is a tail jump. No frame, no trace in a back trace, and whatever `f` returns comes back, a double as well.
//!
//! | register | from the check to the end of a stub |
//! |---|---|
//! | `eax` | the next level; 0 at the jump (`f` may be variadic, and no vector register has an argument) |
//! | `r10` | the vector |
//! | `r11` | f; with more than six arguments f is in the red zone, and `r11` carries words |
#![allow(non_snake_case, unreachable_pub, reason = "reached by name from other objects")]

use core::arch::{global_asm, naked_asm};
use core::mem::offset_of;

use qmpi_abi::thesis::{self, COUNT};

use qmpi_ring::thesis::{Cell, DynamicLib, Vector};

use crate::exports::thesis::misused;

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

global_asm!(
    ".macro qmpi_exec n",
    ".balign 16",
    ".type qmpi_exec_\\n, @function",
    "qmpi_exec_\\n:",
    ".cfi_startproc",
    ".if \\n > 6",
    "mov qword ptr [rsp - 8], rdi",
    ".else",
    "mov r11, rdi",
    ".endif",
    "mov r10, rcx",
    ".if \\n > 0",
    "mov rdi, r8",
    ".endif",
    ".if \\n > 1",
    "mov rsi, r9",
    ".endif",
    ".if \\n > 2",
    "mov rdx, qword ptr [rsp + 8]",
    ".endif",
    ".if \\n > 3",
    "mov rcx, qword ptr [rsp + 16]",
    ".endif",
    ".if \\n > 4",
    "mov r8, qword ptr [rsp + 24]",
    ".endif",
    ".if \\n > 5",
    "mov r9, qword ptr [rsp + 32]",
    ".endif",
    ".if \\n > 6",
    ".set .Lqmpi_k, 7",
    ".rept \\n - 6",
    "mov r11, qword ptr [rsp + 8 * (.Lqmpi_k - 2)]",
    "mov qword ptr [rsp + 8 * (.Lqmpi_k - 6)], r11",
    ".set .Lqmpi_k, .Lqmpi_k + 1",
    ".endr",
    ".endif",
    // Level and vector behind them.
    ".if \\n == 0",
    "mov edi, eax",
    "mov rsi, r10",
    ".endif",
    ".if \\n == 1",
    "mov esi, eax",
    "mov rdx, r10",
    ".endif",
    ".if \\n == 2",
    "mov edx, eax",
    "mov rcx, r10",
    ".endif",
    ".if \\n == 3",
    "mov ecx, eax",
    "mov r8, r10",
    ".endif",
    ".if \\n == 4",
    "mov r8d, eax",
    "mov r9, r10",
    ".endif",
    ".if \\n == 5",
    "mov r9d, eax",
    "mov qword ptr [rsp + 8], r10",
    ".endif",
    ".if \\n > 5",
    "mov qword ptr [rsp + 8 * (\\n - 5)], rax",
    "mov qword ptr [rsp + 8 * (\\n - 4)], r10",
    ".endif",
    "xor eax, eax",
    ".if \\n > 6",
    "jmp qword ptr [rsp - 8]",
    ".else",
    "jmp r11",
    ".endif",
    ".cfi_endproc",
    ".size qmpi_exec_\\n, . - qmpi_exec_\\n",
    ".endm",
    ".pushsection .text.qmpi_exec, \"ax\", @progbits",
    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13",
    "qmpi_exec \\n",
    ".endr",
    ".popsection",
    ".pushsection .data.rel.ro.qmpi_exec, \"aw\", @progbits",
    ".balign 8",
    ".hidden qmpi_exec_table",
    ".globl qmpi_exec_table",
    "qmpi_exec_table:",
    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13",
    ".quad qmpi_exec_\\n",
    ".endr",
    ".popsection",
);

unsafe extern "C" {
    static qmpi_exec_table: [usize; MAX_ARGS as usize + 1];
}

/// `exec_func(f, level, index, vector, args...)`: calls what comes next.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn QMPI_Exec_func() {
    naked_asm!(
        ".cfi_startproc",
        "test rdi, rdi",
        "je {misused}",
        "test rcx, rcx",
        "je {misused}",
        // Without signs: what is negative is too large.
        "cmp edx, {count}",
        "jae {misused}",
        "cmp esi, dword ptr [rcx + {total}]",
        "jae {misused}",
        "mov eax, esi",
        "mov r10, qword ptr [rcx + {items}]",
        "mov r10, qword ptr [r10 + 8 * rax]",
        "mov edx, edx",
        "mov r11, rdx",
        "shl r11, 4",
        "mov eax, dword ptr [r10 + r11 + {level}]",
        "lea r10, [rip + {args}]",
        "movzx r11d, byte ptr [r10 + rdx]",
        "lea r10, [rip + {stubs}]",
        "jmp qword ptr [r10 + 8 * r11]",
        ".cfi_endproc",
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
    naked_asm!(
        "mov eax, esi",
        "mov r11d, edx",
        "lea r10, [rip + {stubs}]",
        "jmp qword ptr [r10 + 8 * r11]",
        stubs = sym qmpi_exec_table,
    )
}

#[cfg(all(test, not(miri)))] // machine code
#[path = "../exec_tests.rs"]
mod tests;
