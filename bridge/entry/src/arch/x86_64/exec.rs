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

#[cfg(all(test, not(miri)))] // machine code
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::ffi::{c_int, c_void};
    use std::ptr::null_mut;
    use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicUsize, Ordering};
    use std::sync::{Mutex, PoisonError};

    use qmpi_ring::thesis::PATH;

    use super::*;

    /// Thirteen arguments, level, vector, and words that are none of its business.
    const WORDS: usize = 17;

    type Exec<T> = unsafe extern "C" fn(*const c_void, c_int, c_int, *const Vector, ...) -> T;

    unsafe extern "C" {
        #[link_name = "QMPI_Exec_func"]
        fn exec_func(function: *const c_void, level: c_int, index: c_int, vector: *const Vector, ...) -> c_int;
    }

    /// The stub for so many arguments itself: called as [`exec_func`], with the next level and the number of arguments.
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

    /// A vector of so many layers.
    fn vector(layers: usize) -> &'static Vector {
        let layer = || DynamicLib {
            path: [0; PATH],
            handle: AtomicUsize::new(0),
            mpi_interceptions: [const { AtomicPtr::new(null_mut()) }; COUNT],
            table: [const { Cell { func_ptr: AtomicPtr::new(null_mut()), level: AtomicI32::new(0) } }; COUNT],
            context: AtomicPtr::new(null_mut()),
        };
        let items: Vec<&'static DynamicLib> = (0..layers).map(|_| &*Box::leak(Box::new(layer()))).collect();
        let total = c_int::try_from(layers).unwrap();
        let items = AtomicPtr::new(Box::leak(items.into_boxed_slice()).as_mut_ptr());
        Box::leak(Box::new(Vector { items, capacity: total, total }))
    }

    /// The target has one place to write to.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    static RECEIVED: Mutex<[usize; WORDS]> = Mutex::new([0; WORDS]);

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

    /// Calls with exactly so many arguments.
    fn call(exec: Exec<c_int>, level: c_int, number: c_int, vector: *const Vector, args: usize) {
        macro_rules! call {
            ($($n:literal: $($i:literal)*;)*) => {
                match args {
                    $( $n => {
                        // SAFETY: `target` reads words of the caller's stack, of which there are enough in a test.
                        unsafe { exec(target as *const c_void, level, number, vector, $(WORD[$i]),*) }
                    } )*
                    _ => unreachable!(),
                }
            };
        }
        let result = call! {
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
        };
        assert_eq!(result, -17);
    }

    /// The arguments.
    const WORD: [usize; 13] = {
        let (mut words, mut i) = ([0; 13], 0);
        while i < words.len() {
            words[i] = 0x1111_2222_3333_0000_usize.wrapping_mul(i + 1) ^ i;
            i += 1;
        }
        words
    };

    fn check(args: usize, level: c_int, vector: *const Vector) {
        let received = *RECEIVED.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(received[..args], WORD[..args], "{args} arguments");
        assert_eq!((received[args] as c_int, received[args + 1]), (level, vector.addr()), "{args} arguments");
    }

    /// Numbers that no function of the table has are among them: eleven.
    #[test]
    fn every_number_of_arguments() {
        let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let vector = std::ptr::without_provenance(0xfeed_beef_dead);
        // SAFETY: it reads what such a function reads.
        let exec_stub = unsafe { std::mem::transmute::<extern "C" fn(), Exec<c_int>>(exec_stub) };
        for args in 0..=usize::from(MAX_ARGS) {
            call(exec_stub, 5, c_int::try_from(args).unwrap(), vector, args);
            check(args, 5, vector);
        }
    }

    #[test]
    fn every_function() {
        let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let vector = vector(3);
        // SAFETY: there are three items.
        let layer = unsafe { vector.items.load(Ordering::Relaxed).add(2) };
        // SAFETY: as above.
        let layer = unsafe { *layer };
        for (index, args) in ARGS.iter().enumerate() {
            let level = c_int::try_from(1000 + index).unwrap();
            layer.table[index].level.store(level, Ordering::Relaxed);
            let args = usize::from(*args);
            call(exec_func, 2, c_int::try_from(index).unwrap(), vector, args);
            check(args, level, vector);
        }
    }

    #[test]
    fn doubles_come_back() {
        extern "C" fn wtime(level: c_int, _vector: *const Vector) -> f64 {
            f64::from(level) + 0.25
        }
        let vector = vector(2);
        // SAFETY: where the result is is up to the function that is called.
        let exec = unsafe { std::mem::transmute::<Exec<c_int>, Exec<f64>>(exec_func) };
        // SAFETY: MPI_Wtime has the last number, and no arguments.
        let time = unsafe { exec(wtime as *const c_void, 1, 359, vector) };
        assert!((time - 0.25).abs() < f64::EPSILON, "{time}");
    }
}
