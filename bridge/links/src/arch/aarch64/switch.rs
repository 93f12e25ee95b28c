//! Stubs that lead into a layer that can be switched off, or past it: what they are for is in [`crate::switch`].
//!
//! The stub of most functions is one of a block ([`crate::blocks`]) and jumps itself: a load, a comparison, a branch, a jump.
//!
//! ```text
//! block:  ldr x17, row.state;  ldr w17, [x17];  cbnz w17, off;  br row.on;  off: br row.off
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
const SWITCH_SIZE: usize = 64;
/// Bytes of what it reads.
const ROW_SIZE: usize = 32;

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

#[repr(C, align(65536))]
struct Rows([SwitchRow; SWITCHES]);

static ROWS: Rows = Rows(
    [const { SwitchRow { state: AtomicUsize::new(0), on: AtomicUsize::new(0), off: AtomicUsize::new(0), unused: 0 } };
        SWITCHES],
);

const _: () = assert!((SWITCHES * SWITCH_SIZE).is_multiple_of(PAGE) && size_of::<SwitchRow>() == ROW_SIZE);

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
    "adrp x16, {rows} + .Lqmpi_switch_row",
    "add x16, x16, :lo12:{rows} + .Lqmpi_switch_row",
    "ldr x17, [x16]",
    "ldr w17, [x17]",
    "cbnz w17, 2f",
    "ldr x16, [x16, 8]",
    "br x16",
    "2:",
    "ldr x16, [x16, 16]",
    "br x16",
    ".balign {size}",
    ".set .Lqmpi_switch_row, .Lqmpi_switch_row + {row}",
    ".endr",
    ".cfi_endproc",
    ".size qmpi_switches, . - qmpi_switches",
    ".popsection",
    page = const PAGE,
    count = const SWITCHES,
    size = const SWITCH_SIZE,
    row = const ROW_SIZE,
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

/// A call that starts a request goes into the layer ([`Passing`]): its bit is cleared.
#[unsafe(naked)]
pub(crate) extern "C" fn switch_into() {
    naked_asm!(
        ".cfi_startproc",
        "adrp x9, {past}",
        "ldr x9, [x9, :lo12:{past}]",
        "mrs x10, tpidr_el0",
        "ldr x11, [x17, {bits}]",
        "ldr x12, [x10, x9]",
        "and x12, x12, x11",
        "str x12, [x10, x9]",
        "ldr x16, [x17, {target}]",
        "br x16",
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
        "adrp x9, {past}",
        "ldr x9, [x9, :lo12:{past}]",
        "mrs x10, tpidr_el0",
        "ldr x11, [x17, {bits}]",
        "ldr x12, [x10, x9]",
        "orr x12, x12, x11",
        "str x12, [x10, x9]",
        "ldr x16, [x17, {target}]",
        "br x16",
        ".cfi_endproc",
        past = sym crate::thread_offsets::PAST,
        bits = const offset_of!(Passing, bits),
        target = const offset_of!(Passing, target),
    )
}

/// Keeps the registers that arguments come in, and passes them to a function of Rust, with the address of the words on the stack.
macro_rules! ask {
    ($function:literal) => {
        concat!(
            qmpi_ring::keep_arguments!(),
            "mov x0, x17\n",
            "add x1, x29, 16\n",
            "add x2, x29, 224\n",
            "bl {",
            $function,
            "}\n",
            qmpi_ring::go_on_with_arguments!(),
        )
    };
}

/// A function that takes requests, of a layer that is on ([`Taking`]): as long as no request was started past a layer, it goes there.
#[unsafe(naked)]
pub(crate) extern "C" fn switch_taking_on() {
    naked_asm!(
        ".cfi_startproc",
        "adrp x9, {count}",
        "ldr x9, [x9, :lo12:{count}]",
        "cbnz x9, 2f",
        "ldr x16, [x17, {on}]",
        "br x16",
        "2:",
        "b {slow}",
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

extern "C" fn decide_on(link: &Taking, arguments: &[usize; super::ARGUMENT_REGISTERS]) -> usize {
    decide(link, arguments, true)
}

extern "C" fn decide_off(link: &Taking, arguments: &[usize; super::ARGUMENT_REGISTERS]) -> usize {
    decide(link, arguments, false)
}
