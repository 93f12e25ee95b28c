//! Machine code for x86-64: how a call enters the chain.
//!
//! * `MPI_f`, exported: `jmp *slot[f]`. A tail jump keeps the application's return address on top of the stack, so the
//!   first layer sees the application as its caller.
//! * Before the slots are filled, each leads to its *lazy* stub, which starts the runtime and then goes on with the call.
//! * `dlsym`, exported: may change the handle, then goes on with a tail jump, too.
//! * `x86_64/exec.rs`: the call of the next layer as tools of the thesis's dialect make it.
#![expect(unsafe_code, reason = "naked functions")]

pub(crate) mod exec;

use std::arch::{global_asm, naked_asm};

use crate::entry::FUNCTIONS;

/// Bytes of one lazy stub.
const LAZY_SIZE: usize = 16;

/// Defines the exported function `$name`, which goes where number `$id` of `$slots` points.
macro_rules! entry_stub {
    ($slots:path, $id:literal $name:ident) => {
        /// One jump: the caller's return address and all arguments stay as they are.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        #[unsafe(link_section = ".text.qmpi_entry")]
        pub extern "C" fn $name() {
            std::arch::naked_asm!(
                ".cfi_startproc",
                "jmp qword ptr [rip + {slots} + 8 * {id}]",
                // One stub in eight would cross a cache line otherwise, which takes a cycle more.
                ".balign 16, 0xcc",
                ".cfi_endproc",
                slots = sym $slots,
                id = const $id,
            )
        }
    };
}
pub(crate) use entry_stub;

global_asm!(
    ".pushsection .text.qmpi_lazy, \"ax\", @progbits",
    ".balign 64",
    ".hidden qmpi_lazy",
    ".globl qmpi_lazy",
    ".type qmpi_lazy, @function",
    "qmpi_lazy:",
    ".cfi_startproc",
    ".set .Lqmpi_id, 0",
    ".rept {count}",
    "mov r11d, offset .Lqmpi_id",
    "jmp {first_call}",
    ".balign {size}, 0xcc",
    ".set .Lqmpi_id, .Lqmpi_id + 1",
    ".endr",
    ".cfi_endproc",
    ".size qmpi_lazy, . - qmpi_lazy",
    ".popsection",
    // Numbers from FUNCTIONS on are the name-shifted functions.
    count = const 2 * FUNCTIONS,
    size = const LAZY_SIZE,
    first_call = sym first_call,
);

unsafe extern "C" {
    static qmpi_lazy: [[u8; LAZY_SIZE]; 2 * FUNCTIONS];
}

/// The address of the lazy stub of function number `id`; from `FUNCTIONS` on, of the name-shifted functions.
pub(crate) const fn lazy(id: usize) -> *mut () {
    // SAFETY: only an address is taken, inside the array.
    unsafe { (&raw const qmpi_lazy).cast::<[u8; LAZY_SIZE]>().add(id) as *mut () }
}

/// The first call of a function: `r11d` is its number. Keeps the arguments, asks [`crate::start::first_call`] where to go, and
/// goes there.
#[unsafe(naked)]
extern "C" fn first_call() {
    naked_asm!(
        ".cfi_startproc",
        qmpi_loader::keep_arguments!(),
        "mov edi, r11d",
        "call {resolve}",
        qmpi_loader::go_on_with_arguments!(),
        ".cfi_endproc",
        resolve = sym crate::start::first_call,
    )
}

/// `dlsym(handle, name)` of the process: asks [`crate::dlsym::decide`], and goes on to glibc's, whose caller is ours.
#[unsafe(naked)]
#[unsafe(no_mangle)]
extern "C" fn dlsym() {
    naked_asm!(
        ".cfi_startproc",
        "mov rdx, qword ptr [rsp]",
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "call {decide}",
        "pop rsi",
        ".cfi_adjust_cfa_offset -8",
        "mov rdi, rax",
        "jmp rdx",
        ".cfi_endproc",
        decide = sym crate::dlsym::decide,
    )
}
