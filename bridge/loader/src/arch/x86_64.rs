//! Machine code for x86-64 that a loaded tool runs: trampolines and the shims they lead to.
//!
//! Nothing is written at run time; a trampoline is made by filling in a row of data.
//!
//! | register | at a shim's entry |
//! |---|---|
//! | `r11` | the trampoline's payload (the psABI lets a linkage stub use it: figure 3.4) |
//! | `rdi rsi rdx rcx r8 r9`, stack, `al`, `xmm0-7` | the arguments, untouched |
//! | `[rsp]` | the caller, whom a tail jump keeps visible |
//!
//! Every function carries its own CFI, so that a back trace and a signal-driven profiler find the way through.
#![expect(unsafe_code, reason = "naked functions and the table they jump through")]

use std::arch::{global_asm, naked_asm};
use std::cell::UnsafeCell;

use crate::overrides;

/// How many trampolines there are: 256 KB of code and as much data, touched only where used.
pub(crate) const TRAMPOLINES: usize = 16384;

/// Bytes of one trampoline's code.
const TRAMPOLINE_SIZE: usize = 16;

/// What a trampoline loads: payload, then target.
#[repr(C)]
pub(crate) struct Row {
    payload: UnsafeCell<usize>,
    target: UnsafeCell<usize>,
}

// SAFETY: a row is written once, by whoever took it from the pool, before its address is given away.
unsafe impl Sync for Row {}

static ROWS: [Row; TRAMPOLINES] =
    [const { Row { payload: UnsafeCell::new(0), target: UnsafeCell::new(0) } }; TRAMPOLINES];

global_asm!(
    ".pushsection .text.qmpi_trampolines, \"ax\", @progbits",
    ".balign 64",
    ".hidden qmpi_trampolines",
    ".globl qmpi_trampolines",
    ".type qmpi_trampolines, @function",
    "qmpi_trampolines:",
    ".cfi_startproc",
    ".set .Lqmpi_row, 0",
    ".rept {count}",
    "mov r11, qword ptr [rip + {rows} + .Lqmpi_row]",
    "jmp qword ptr [rip + {rows} + .Lqmpi_row + 8]",
    ".balign {size}, 0xcc",
    ".set .Lqmpi_row, .Lqmpi_row + 16",
    ".endr",
    ".cfi_endproc",
    ".size qmpi_trampolines, . - qmpi_trampolines",
    ".popsection",
    count = const TRAMPOLINES,
    size = const TRAMPOLINE_SIZE,
    rows = sym ROWS,
);

unsafe extern "C" {
    static qmpi_trampolines: [[u8; TRAMPOLINE_SIZE]; TRAMPOLINES];
}

/// Fills in trampoline `index` and returns its address.
///
/// # Safety
/// The row must be unused, and `target` must be code that understands `payload` in `r11`.
pub(crate) unsafe fn set_trampoline(index: usize, target: usize, payload: usize) -> usize {
    let row = &ROWS[index];
    // SAFETY: the caller owns the row, and nothing jumps through it yet.
    unsafe { *row.payload.get() = payload };
    // SAFETY: as above.
    unsafe { *row.target.get() = target };
    let code = &raw const qmpi_trampolines;
    code.addr() + index * TRAMPOLINE_SIZE
}

/// `dlsym(handle, name)` and `dlvsym(handle, name, version)` of a tool.
///
/// Asks [`overrides::dlsym::decide`]; null means that glibc shall answer, with the tool as its caller.
macro_rules! dlsym_shim {
    ($name:ident, $real:path) => {
        #[unsafe(naked)]
        pub(crate) extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "push rdi",
                ".cfi_adjust_cfa_offset 8",
                "push rsi",
                ".cfi_adjust_cfa_offset 8",
                "push rdx",
                ".cfi_adjust_cfa_offset 8",
                "mov rdx, r11",
                "mov rcx, qword ptr [rsp + 24]",
                "call {decide}",
                "pop rdx",
                ".cfi_adjust_cfa_offset -8",
                "pop rsi",
                ".cfi_adjust_cfa_offset -8",
                "pop rdi",
                ".cfi_adjust_cfa_offset -8",
                "test rax, rax",
                "jz 2f",
                "ret",
                "2:",
                "jmp qword ptr [rip + {real}@GOTPCREL]",
                ".cfi_endproc",
                decide = sym overrides::dlsym::decide,
                real = sym $real,
            )
        }
    };
}
dlsym_shim!(dlsym, libc::dlsym);
dlsym_shim!(dlvsym, crate::namespace::dlvsym);

/// `dlopen(file, mode)` of a tool: [`overrides::dlopen::prepare`] returns both arguments anew.
#[unsafe(naked)]
pub(crate) extern "C" fn dlopen() {
    naked_asm!(
        ".cfi_startproc",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "mov rdx, r11",
        "mov rcx, qword ptr [rsp + 8]",
        "call {prepare}",
        "mov rdi, rax",
        "mov rsi, rdx",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "jmp qword ptr [rip + {real}@GOTPCREL]",
        ".cfi_endproc",
        prepare = sym overrides::dlopen::prepare,
        real = sym libc::dlopen,
    )
}

/// `dl_iterate_phdr(callback, data)` of a tool.
#[unsafe(naked)]
pub(crate) extern "C" fn dl_iterate_phdr() {
    naked_asm!(
        ".cfi_startproc",
        "mov rdx, qword ptr [rsp]",
        "mov rcx, r11",
        "jmp {to}",
        ".cfi_endproc",
        to = sym overrides::dl_iterate_phdr::union,
    )
}

/// `getenv(name)` of a tool.
#[unsafe(naked)]
pub(crate) extern "C" fn getenv() {
    naked_asm!(
        ".cfi_startproc",
        "mov rsi, r11",
        "jmp {to}",
        ".cfi_endproc",
        to = sym overrides::getenv::overlay,
    )
}

/// `secure_getenv(name)` of a tool.
#[unsafe(naked)]
pub(crate) extern "C" fn secure_getenv() {
    naked_asm!(
        ".cfi_startproc",
        "mov rsi, r11",
        "jmp {to}",
        ".cfi_endproc",
        to = sym overrides::getenv::secure_overlay,
    )
}

/// A call of something that does not exist; the payload says what.
#[unsafe(naked)]
pub(crate) extern "C" fn missing() {
    naked_asm!(
        ".cfi_startproc",
        "mov rdi, r11",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "call {report}",
        "ud2",
        ".cfi_endproc",
        report = sym crate::missing::report,
    )
}

/// A call without arguments on its way past a [`crate::passage::Passage`]: tells of itself, and goes on.
#[unsafe(naked)]
pub(crate) extern "C" fn passage() {
    naked_asm!(
        ".cfi_startproc",
        "push r11",
        ".cfi_adjust_cfa_offset 8",
        "mov rdi, qword ptr [r11 + {station}]",
        "lea rsi, [rsp + 8]",
        "call qword ptr [r11 + {visit}]",
        "pop r11",
        ".cfi_adjust_cfa_offset -8",
        "jmp qword ptr [r11 + {target}]",
        ".cfi_endproc",
        station = const std::mem::offset_of!(crate::passage::Passage, station),
        visit = const std::mem::offset_of!(crate::passage::Passage, visit),
        target = const std::mem::offset_of!(crate::passage::Passage, target),
    )
}

/// A call that is counted on its way ([`crate::counter::Counter`]).
#[unsafe(naked)]
pub(crate) extern "C" fn count() {
    naked_asm!(
        ".cfi_startproc",
        "lock inc qword ptr [r11 + {calls}]",
        "jmp qword ptr [r11 + {target}]",
        ".cfi_endproc",
        calls = const std::mem::offset_of!(crate::counter::Counter, calls),
        target = const std::mem::offset_of!(crate::counter::Counter, target),
    )
}

/// `MPI_Pcontrol(level, ...)` of a tool that does not pass it on: calls the tool, then goes on to the next link.
///
/// The function is variadic, so nobody knows its arguments: all that can hold one is kept, six registers, eight
/// vector registers (psABI 3.5.7; `al` counts them) and twelve words of the stack.
///
/// ```text
/// rbp+16  the caller's stack arguments      rsp+160  xmm0..xmm7
/// rbp+8   return address                    rsp+96   rdi rsi rdx rcx r8 r9 rax r11
/// rbp     saved rbp                         rsp      copy of twelve stack words
/// ```
#[unsafe(naked)]
pub(crate) extern "C" fn pcontrol() {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "sub rsp, 288",
        "mov [rsp + 96], rdi",
        "mov [rsp + 104], rsi",
        "mov [rsp + 112], rdx",
        "mov [rsp + 120], rcx",
        "mov [rsp + 128], r8",
        "mov [rsp + 136], r9",
        "mov [rsp + 144], rax",
        "mov [rsp + 152], r11",
        "movups [rsp + 160], xmm0",
        "movups [rsp + 176], xmm1",
        "movups [rsp + 192], xmm2",
        "movups [rsp + 208], xmm3",
        "movups [rsp + 224], xmm4",
        "movups [rsp + 240], xmm5",
        "movups [rsp + 256], xmm6",
        "movups [rsp + 272], xmm7",
        // The copy: rsi, rdi and rcx are saved above and loaded again below.
        "lea rsi, [rbp + 16]",
        "mov rdi, rsp",
        "mov ecx, 12",
        "rep movsq",
        "mov rdi, [rsp + 96]",
        "mov rsi, [rsp + 104]",
        "mov rcx, [rsp + 120]",
        "call qword ptr [r11 + {tool}]",
        "movups xmm0, [rsp + 160]",
        "movups xmm1, [rsp + 176]",
        "movups xmm2, [rsp + 192]",
        "movups xmm3, [rsp + 208]",
        "movups xmm4, [rsp + 224]",
        "movups xmm5, [rsp + 240]",
        "movups xmm6, [rsp + 256]",
        "movups xmm7, [rsp + 272]",
        "mov rdi, [rsp + 96]",
        "mov rsi, [rsp + 104]",
        "mov rdx, [rsp + 112]",
        "mov rcx, [rsp + 120]",
        "mov r8, [rsp + 128]",
        "mov r9, [rsp + 136]",
        "mov rax, [rsp + 144]",
        "mov r11, [rsp + 152]",
        "leave",
        ".cfi_def_cfa rsp, 8",
        "jmp qword ptr [r11 + {next}]",
        ".cfi_endproc",
        tool = const std::mem::offset_of!(crate::pcontrol::Delivery, tool),
        next = const std::mem::offset_of!(crate::pcontrol::Delivery, next),
    )
}
