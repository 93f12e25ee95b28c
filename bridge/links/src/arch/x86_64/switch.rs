//! Stubs that lead into a layer that can be switched off, or past it: what they are for is in [`crate::switch`].
//!
//! The stub of most functions is one of a block ([`crate::blocks`]) and jumps itself: a load, a comparison, a branch, a jump.
//!
//! ```text
//! block:  mov r11, row.state;  cmp [r11], 0;  jne off;  jmp row.on;  off: jmp row.off
//! ```
//!
//! All leave the arguments, the stack and its return address as they are, and end in a jump.
#![expect(unsafe_code, reason = "the rows that machine code jumps through")]

use std::arch::{global_asm, naked_asm};
use std::io;
use std::mem::offset_of;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::PAGE;
use crate::blocks::{Block, Blocks};
use crate::switch::{Passing, Taking, decide};

/// How many stubs a block has.
const SWITCHES: usize = 2048;
/// Bytes of the code of one.
const SWITCH_SIZE: usize = 32;

/// What a stub reads.
#[repr(C)]
pub(crate) struct SwitchRow {
    /// The address of the layer's state: 0 as long as it is on.
    state: AtomicUsize,
    /// Into the layer.
    pub(crate) on: AtomicUsize,
    /// Past it.
    off: AtomicUsize,
    unused: usize,
}

#[repr(C, align(4096))]
struct Rows([SwitchRow; SWITCHES]);

static ROWS: Rows = Rows(
    [const { SwitchRow { state: AtomicUsize::new(0), on: AtomicUsize::new(0), off: AtomicUsize::new(0), unused: 0 } };
        SWITCHES],
);

const _: () = assert!((SWITCHES * SWITCH_SIZE).is_multiple_of(PAGE) && size_of::<SwitchRow>() == SWITCH_SIZE);

global_asm!(
    ".pushsection .text.qmpi_switches, \"ax\", @progbits",
    ".balign {page}",
    ".hidden qmpi_switches",
    ".globl qmpi_switches",
    ".type qmpi_switches, @function",
    "qmpi_switches:",
    ".cfi_startproc",
    ".set .Lqmpi_switch_row, 0",
    ".rept {count}",
    "mov r11, qword ptr [rip + {rows} + .Lqmpi_switch_row]",
    "cmp dword ptr [r11], 0",
    "jne 2f",
    "jmp qword ptr [rip + {rows} + .Lqmpi_switch_row + 8]",
    "2:",
    "jmp qword ptr [rip + {rows} + .Lqmpi_switch_row + 16]",
    ".balign {size}, 0xcc",
    ".set .Lqmpi_switch_row, .Lqmpi_switch_row + {size}",
    ".endr",
    ".cfi_endproc",
    ".size qmpi_switches, . - qmpi_switches",
    ".popsection",
    page = const PAGE,
    count = const SWITCHES,
    size = const SWITCH_SIZE,
    rows = sym ROWS,
);

unsafe extern "C" {
    static qmpi_switches: [[u8; SWITCH_SIZE]; SWITCHES];
}

fn block_of_library() -> Block {
    Block {
        code: (&raw const qmpi_switches).expose_provenance(),
        code_len: SWITCHES * SWITCH_SIZE,
        rows: (&raw const ROWS).expose_provenance(),
        rows_len: size_of::<Rows>(),
    }
}

/// Makes a stub that goes to `on` as long as `state` is 0, else to `off`. Returns its row, too.
pub(crate) fn switch(state: usize, on: usize, off: usize) -> io::Result<(usize, &'static SwitchRow)> {
    static BLOCKS: Blocks = Blocks::new(block_of_library);
    static TAKEN: AtomicUsize = AtomicUsize::new(0);
    let number = TAKEN.fetch_add(1, Ordering::Relaxed);
    let block = BLOCKS.get(number / SWITCHES)?;
    let index = number % SWITCHES;
    let rows = std::ptr::with_exposed_provenance::<SwitchRow>(block.rows);
    // SAFETY: blocks have so many rows, at addresses that stay mapped for ever.
    let row = unsafe { rows.add(index) };
    // SAFETY: as above; rows are never freed.
    let row = unsafe { &*row };
    row.on.store(on, Ordering::Relaxed);
    row.off.store(off, Ordering::Relaxed);
    // Nothing jumps through it before its address is given away.
    row.state.store(state, Ordering::Release);
    Ok((block.code + index * SWITCH_SIZE, row))
}

/// A call that starts a request goes into the layer ([`Passing`]): its bit is cleared. The function is not variadic, so `rax` is free.
#[unsafe(naked)]
pub(crate) extern "C" fn switch_into() {
    naked_asm!(
        ".cfi_startproc",
        "mov r10, qword ptr [rip + {past}]",
        "mov rax, qword ptr [r11 + {bits}]",
        "and qword ptr fs:[r10], rax",
        "jmp qword ptr [r11 + {target}]",
        ".cfi_endproc",
        past = sym crate::thread_offsets::PAST,
        bits = const offset_of!(Passing, bits),
        target = const offset_of!(Passing, target),
    )
}

/// It goes past the layer: the bit is set.
#[unsafe(naked)]
pub(crate) extern "C" fn switch_past() {
    naked_asm!(
        ".cfi_startproc",
        "mov r10, qword ptr [rip + {past}]",
        "mov rax, qword ptr [r11 + {bits}]",
        "or qword ptr fs:[r10], rax",
        "jmp qword ptr [r11 + {target}]",
        ".cfi_endproc",
        past = sym crate::thread_offsets::PAST,
        bits = const offset_of!(Passing, bits),
        target = const offset_of!(Passing, target),
    )
}

/// Keeps the six registers that arguments come in, and passes them to a function of Rust, with the address of the words on the stack.
macro_rules! ask {
    ($function:literal) => {
        concat!(
            "push rbp\n",
            ".cfi_def_cfa_offset 16\n",
            ".cfi_offset rbp, -16\n",
            "mov rbp, rsp\n",
            ".cfi_def_cfa_register rbp\n",
            "sub rsp, 48\n",
            "mov [rsp], rdi\n",
            "mov [rsp + 8], rsi\n",
            "mov [rsp + 16], rdx\n",
            "mov [rsp + 24], rcx\n",
            "mov [rsp + 32], r8\n",
            "mov [rsp + 40], r9\n",
            "mov rdi, r11\n",
            "mov rsi, rsp\n",
            "lea rdx, [rbp + 16]\n",
            "call {",
            $function,
            "}\n",
            "mov r11, rax\n",
            "mov rdi, [rsp]\n",
            "mov rsi, [rsp + 8]\n",
            "mov rdx, [rsp + 16]\n",
            "mov rcx, [rsp + 24]\n",
            "mov r8, [rsp + 32]\n",
            "mov r9, [rsp + 40]\n",
            "leave\n",
            ".cfi_def_cfa rsp, 8\n",
            "jmp r11\n",
        )
    };
}

/// A function that takes requests, of a layer that is on ([`Taking`]): as long as no request was started past a layer, it goes there.
#[unsafe(naked)]
pub(crate) extern "C" fn switch_taking_on() {
    naked_asm!(
        ".cfi_startproc",
        "cmp qword ptr [rip + {count}], 0",
        "jne 2f",
        "jmp qword ptr [r11 + {on}]",
        "2:",
        "jmp {slow}",
        ".cfi_endproc",
        count = sym crate::requests::COUNT,
        on = const offset_of!(Taking, on),
        slow = sym taking_on,
    )
}

#[unsafe(naked)]
extern "C" fn taking_on() {
    naked_asm!(".cfi_startproc", ask!("decide"), ".cfi_endproc", decide = sym decide_on)
}

/// The same of a layer that is off.
#[unsafe(naked)]
pub(crate) extern "C" fn switch_taking_off() {
    naked_asm!(".cfi_startproc", ask!("decide"), ".cfi_endproc", decide = sym decide_off)
}

/// A call of a layer that sees some of its calls ([`crate::filter`]).
#[unsafe(naked)]
pub(crate) extern "C" fn switch_filtered() {
    naked_asm!(".cfi_startproc", ask!("decide"), ".cfi_endproc", decide = sym crate::filter::decide)
}

extern "C" fn decide_on(link: &Taking, arguments: &[usize; 6]) -> usize {
    decide(link, arguments, true)
}

extern "C" fn decide_off(link: &Taking, arguments: &[usize; 6]) -> usize {
    decide(link, arguments, false)
}
