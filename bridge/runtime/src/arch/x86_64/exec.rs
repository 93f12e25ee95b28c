//! `exec_func(f, level, index, vector, args...)` of the thesis's dialect: calls `f(args..., next_level, vector)`.
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

use std::arch::{global_asm, naked_asm};
use std::mem::{offset_of, size_of};

use qmpi_abi::thesis::{self, COUNT};

use crate::thesis::misused;
use crate::thesis::vector::{Cell, DynamicLib, Vector};

/// The largest number of arguments that there is a stub for; MPI's own largest is 13.
const MAX_ARGS: u8 = 20;

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
    ".endm",
    ".pushsection .text.qmpi_exec, \"ax\", @progbits",
    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20",
    "qmpi_exec \\n",
    ".endr",
    ".popsection",
    ".pushsection .data.rel.ro.qmpi_exec, \"aw\", @progbits",
    ".balign 8",
    ".hidden qmpi_exec_table",
    ".globl qmpi_exec_table",
    "qmpi_exec_table:",
    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20",
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

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::collections::BTreeSet;
    use std::ffi::{c_int, c_void};
    use std::ptr::null;
    use std::sync::atomic::Ordering;
    use std::sync::{Mutex, PoisonError};

    use super::*;
    use crate::thesis::Builder;

    /// Thirteen arguments, level, vector, and words that are none of its business.
    const WORDS: usize = 17;

    unsafe extern "C" {
        #[link_name = "QMPI_Exec_func"]
        fn exec_func(function: *const c_void, level: c_int, index: c_int, vector: *const Vector, ...) -> c_int;
        #[link_name = "QMPI_Exec_func"]
        fn exec_double(function: *const c_void, level: c_int, index: c_int, vector: *const Vector, ...) -> f64;
    }

    static RECEIVED: Mutex<[usize; WORDS]> = Mutex::new([0; WORDS]);

    #[expect(clippy::too_many_arguments, reason = "as many as MPI has")]
    extern "C" fn target(
        a0: usize,
        a1: usize,
        a2: usize,
        a3: usize,
        a4: usize,
        a5: usize,
        a6: usize,
        a7: usize,
        a8: usize,
        a9: usize,
        a10: usize,
        a11: usize,
        a12: usize,
        a13: usize,
        a14: usize,
        a15: usize,
        a16: usize,
    ) -> c_int {
        *RECEIVED.lock().unwrap_or_else(PoisonError::into_inner) =
            [a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16];
        -17
    }

    /// Calls with exactly these arguments.
    macro_rules! call {
        ($index:expr, $vector:expr, $words:expr, [$($n:literal: $($i:literal)*;)*]) => {
            // SAFETY: `target` reads words of the caller's stack, of which there are enough in a test.
            match ARGS[$index] {
                $( $n => unsafe {
                    exec_func(target as *const c_void, 2, $index as c_int, $vector, $($words[$i]),*)
                }, )*
                _ => unreachable!(),
            }
        };
    }

    #[test]
    fn every_number_of_arguments() {
        let builder = Builder::new(&[None, None]);
        let vector: *const Vector = std::ptr::with_exposed_provenance(builder.vector());
        // SAFETY: of the builder, with three items.
        let layer = unsafe { *(*vector).items.load(Ordering::Relaxed).add(2) };
        let words: [usize; 13] = std::array::from_fn(|i| 0x1111_2222_3333_0000_usize.wrapping_mul(i + 1) ^ i);
        let mut seen = BTreeSet::new();
        for index in 0..COUNT {
            let level = c_int::try_from(1000 + index).unwrap();
            layer.table[index].level.store(level, Ordering::Relaxed);
            let result = call!(index, vector, words, [
                0: ;
                1: 0;
                2: 0 1;
                3: 0 1 2;
                4: 0 1 2 3;
                5: 0 1 2 3 4;
                6: 0 1 2 3 4 5;
                7: 0 1 2 3 4 5 6;
                8: 0 1 2 3 4 5 6 7;
                9: 0 1 2 3 4 5 6 7 8;
                10: 0 1 2 3 4 5 6 7 8 9;
                11: 0 1 2 3 4 5 6 7 8 9 10;
                12: 0 1 2 3 4 5 6 7 8 9 10 11;
                13: 0 1 2 3 4 5 6 7 8 9 10 11 12;
            ]);
            assert_eq!(result, -17);
            let received = *RECEIVED.lock().unwrap_or_else(PoisonError::into_inner);
            let args = usize::from(ARGS[index]);
            seen.insert(args);
            assert_eq!(received[..args], words[..args], "{index}: {args} arguments");
            assert_eq!((received[args] as c_int, received[args + 1]), (level, vector.addr()), "{index}: {args} arguments");
        }
        // No function of the table has eleven.
        assert_eq!(seen, (0..=13).filter(|args| *args != 11).collect());
    }

    #[test]
    fn doubles_come_back() {
        extern "C" fn wtime(level: c_int, _vector: *const Vector) -> f64 {
            f64::from(level) + 0.25
        }
        let builder = Builder::new(&[None]);
        let vector = std::ptr::with_exposed_provenance(builder.vector());
        // SAFETY: MPI_Wtime has the last number, and no arguments.
        let time = unsafe { exec_double(wtime as *const c_void, 1, 359, vector) };
        assert!((time - 0.25).abs() < f64::EPSILON, "{time}");
    }

    #[test]
    fn misuse_is_an_error() {
        let builder = Builder::new(&[None]);
        let vector = std::ptr::with_exposed_provenance(builder.vector());
        let function = target as *const c_void;
        for (function, level, index, vector) in [
            (null(), 1, 258, vector),
            (function, 1, 258, null()),
            (function, -1, 258, vector),
            (function, 2, 258, vector),
            (function, 1, -1, vector),
            (function, 1, 360, vector),
        ] {
            // SAFETY: nothing is called.
            let result = unsafe { exec_func(function, level, index, vector, 1_usize, 2_usize) };
            assert_ne!(result, 0, "{level} {index}");
        }
    }
}
