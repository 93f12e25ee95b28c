//! Machine code for x86-64: how a call enters the stack.
//!
//! * `MPI_f`, exported: `jmp *slot[f]`. A tail jump keeps the application's return address on top of the stack, so the
//!   first layer sees the application as its caller.
//! * Before the slots are filled, each leads to its *lazy stub*, which starts the runtime and then goes on with the call.
//! * `QMPI_f`, exported: a jump by way of the table `SHIFTED`, whose words are filled in when a function is first called.
//! * `dlsym`, `dlvsym`, exported: may change the handle, then go on with a tail jump, too.
//! * `x86_64/exec.rs`: the call of the next layer as tools of the 2018 prototype make it.
//!
//! All exported stubs of a kind lie in a section of their own, for which one entry of `.eh_frame` is written here by hand: an
//! entry for each of 1,600 stubs would take 50 KB, a third of the library.
#![expect(unsafe_code, reason = "naked functions")]

mod exec;

use core::arch::{global_asm, naked_asm};

use qmpi_abi::COUNT;

qmpi_ring::define_thread_storage!();

/// Bytes of one lazy stub: a call, and a byte behind it, so that the return address lies in the stub. Each runs once at most: packed.
pub(crate) const LAZY_SIZE: usize = 6;
/// Bytes of an entry stub: an aligned word, so that none crosses a cache line.
const STUB_SIZE: usize = 8;
/// Bytes of a stub of the name-shifted functions. Tools call them now and then, and there are hundreds: packed, not aligned.
const SHIFTED_SIZE: usize = 12;

/// Defines the exported function `$name`, which goes where number `$id` of `$slots` points.
macro_rules! entry_stub {
    ($slots:path, $id:literal $name:ident) => {
        /// One jump: the caller's return address and all arguments stay as they are.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        #[unsafe(link_section = "qmpi_entry")]
        pub extern "C" fn $name() {
            core::arch::naked_asm!(
                "jmp qword ptr [rip + {slots} + 8 * {id}]",
                ".balign 8, 0xcc",
                slots = sym $slots,
                id = const $id,
            )
        }
    };
}
pub(crate) use entry_stub;

/// Defines the exported function `$name`: the name-shifted function number `$id`.
macro_rules! shifted_stub {
    ($id:literal $name:ident) => {
        /// Goes on with the number of the function in `r11`.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        #[unsafe(link_section = "qmpi_shifted")]
        pub extern "C" fn $name() {
            core::arch::naked_asm!(
                "mov r11d, {id}",
                "jmp {to}",
                ".balign 4, 0xcc",
                id = const $id,
                to = sym $crate::arch::shifted,
            )
        }
    };
}
pub(crate) use shifted_stub;

global_asm!(
    ".pushsection .text.qmpi_lazy, \"ax\", @progbits",
    ".balign 64",
    ".hidden qmpi_lazy",
    ".globl qmpi_lazy",
    ".type qmpi_lazy, @function",
    "qmpi_lazy:",
    ".cfi_startproc",
    ".rept {count}",
    // The return address tells which stub it was.
    "call {first_call}",
    ".byte 0xcc",
    ".endr",
    ".cfi_endproc",
    ".size qmpi_lazy, . - qmpi_lazy",
    ".popsection",
    ".hidden __start_qmpi_entry",
    ".hidden __stop_qmpi_entry",
    ".hidden __start_qmpi_shifted",
    // One entry of .eh_frame for each of the two sections of exported stubs (LSB 10.6.1): at every instruction in them the
    // stack pointer is where it was when the function was called.
    ".pushsection .eh_frame, \"a\", @unwind",
    ".balign 8",
    ".Lqmpi_cie:",
    ".long .Lqmpi_cie_end - .Lqmpi_cie_begin",
    ".Lqmpi_cie_begin:",
    ".long 0",
    ".byte 1",
    ".asciz \"zR\"",
    ".uleb128 1",
    ".sleb128 -8",
    ".byte 16",
    ".uleb128 1",
    ".byte 0x1b",
    // DW_CFA_def_cfa rsp + 8; DW_CFA_offset: the return address is at the CFA - 8.
    ".byte 0x0c, 7, 8, 0x90, 1",
    ".balign 8, 0",
    ".Lqmpi_cie_end:",
    ".macro qmpi_fde name, start, size",
    ".long .Lqmpi_\\name\\()_end - .Lqmpi_\\name\\()_begin",
    ".Lqmpi_\\name\\()_begin:",
    ".long . - .Lqmpi_cie",
    ".long \\start - .",
    ".long \\size",
    ".uleb128 0",
    ".balign 8, 0",
    ".Lqmpi_\\name\\()_end:",
    ".endm",
    "qmpi_fde entry, __start_qmpi_entry, {count} * {stub_size}",
    "qmpi_fde shifted, __start_qmpi_shifted, {count} * {shifted_size}",
    ".popsection",
    count = const COUNT,
    stub_size = const STUB_SIZE,
    shifted_size = const SHIFTED_SIZE,
    first_call = sym first_call,
);

// The slots lead to the lazy stubs before any code of the process runs, also before the constructors of libraries that stand before this
// one. A relocation for each of them would take 24 bytes, 19 KB in all, of every process. Instead there is one of the type
// R_X86_64_IRELATIVE (psABI table 4.9): `ld.so` calls a function for its value while it relocates this library.
global_asm!(
    ".pushsection .text.qmpi_fill_slots, \"ax\", @progbits",
    ".hidden qmpi_fill_slots",
    ".globl qmpi_fill_slots",
    ".type qmpi_fill_slots, @gnu_indirect_function",
    "qmpi_fill_slots:",
    "jmp {fill_slots}",
    ".size qmpi_fill_slots, . - qmpi_fill_slots",
    ".popsection",
    ".pushsection .data.rel.ro.qmpi_slots_filled, \"awR\", @progbits",
    ".balign 8",
    ".quad qmpi_fill_slots",
    ".popsection",
    fill_slots = sym crate::exports::functions::fill_slots,
);

// `core` as it comes with the compiler names this function of `std` in its unwind tables. Nothing here unwinds.
#[cfg(not(test))]
global_asm!(
    ".pushsection .text.qmpi_no_unwinding, \"ax\", @progbits",
    ".hidden rust_eh_personality",
    ".globl rust_eh_personality",
    ".type rust_eh_personality, @function",
    "rust_eh_personality:",
    "ud2",
    ".size rust_eh_personality, . - rust_eh_personality",
    ".popsection",
);

unsafe extern "C" {
    static qmpi_lazy: [[u8; LAZY_SIZE]; COUNT];
    /// The linker's names for the borders of the section of entry stubs.
    static __start_qmpi_entry: u8;
    static __stop_qmpi_entry: u8;
}

/// The address of the lazy stub of function number `id`.
pub(crate) const fn lazy(id: usize) -> *mut () {
    // SAFETY: only an address is taken, inside the array.
    unsafe { (&raw const qmpi_lazy).cast::<[u8; LAZY_SIZE]>().add(id) as *mut () }
}

/// The number of the function whose entry stub is at `address`, if there is one. The stub's instruction names its slot.
pub(crate) fn function_at(address: usize, slots: usize) -> Option<usize> {
    let (start, stop) = ((&raw const __start_qmpi_entry).addr(), (&raw const __stop_qmpi_entry).addr());
    if !(start..stop).contains(&address) {
        return None;
    }
    // SAFETY: an entry stub: `ff 25` and a displacement of four bytes, readable as all code of this library.
    let code = unsafe { core::ptr::with_exposed_provenance::<[u8; 6]>(address).read() };
    let [0xff, 0x25, a, b, c, d] = code else { return None };
    let slot = (address + code.len()).wrapping_add_signed(i32::from_le_bytes([a, b, c, d]) as isize);
    let id = slot.wrapping_sub(slots) / size_of::<usize>();
    (id < COUNT).then_some(id)
}

/// The first call of a function, by its lazy stub. Keeps the arguments, asks [`crate::start::first_call`] where to go, and goes
/// there.
#[unsafe(naked)]
extern "C" fn first_call() {
    naked_asm!(
        ".cfi_startproc",
        // A lazy stub has called this function.
        ".cfi_def_cfa_offset 16",
        "pop r11",
        ".cfi_adjust_cfa_offset -8",
        qmpi_ring::keep_arguments!(),
        "mov rdi, r11",
        "lea rax, [rip + qmpi_lazy]",
        "sub rdi, rax",
        "call {resolve}",
        qmpi_ring::go_on_with_arguments!(),
        ".cfi_endproc",
        resolve = sym crate::start::first_call,
    )
}

/// A name-shifted function, whose number is in `r11`.
#[unsafe(naked)]
pub(crate) extern "C" fn shifted() {
    naked_asm!(
        ".cfi_startproc",
        "lea r10, [rip + {functions}]",
        "mov r10, qword ptr [r10 + 8 * r11]",
        "test r10, r10",
        "jz 2f",
        "jmp r10",
        "2:",
        qmpi_ring::keep_arguments!(),
        "mov rdi, r11",
        "call {resolve}",
        qmpi_ring::go_on_with_arguments!(),
        ".cfi_endproc",
        functions = sym crate::exports::shifted::FUNCTIONS,
        resolve = sym crate::exports::shifted::resolve,
    )
}

/// `dlsym(handle, name)` of the process: asks [`crate::exports::dlsym::decide`], and goes on to glibc's, whose caller is ours.
#[unsafe(naked)]
#[cfg_attr(not(miri), unsafe(no_mangle))] // Miri would take it for its own `dlsym`.
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
        decide = sym crate::exports::dlsym::decide,
    )
}

/// `dlvsym(handle, name, version)` of the process, in the same way.
#[unsafe(naked)]
#[unsafe(no_mangle)]
extern "C" fn dlvsym() {
    naked_asm!(
        ".cfi_startproc",
        "mov rcx, qword ptr [rsp]",
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "push rdx",
        ".cfi_adjust_cfa_offset 8",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "call {decide}",
        "mov r11, rdx",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "pop rdx",
        ".cfi_adjust_cfa_offset -8",
        "pop rsi",
        ".cfi_adjust_cfa_offset -8",
        "mov rdi, rax",
        "jmp r11",
        ".cfi_endproc",
        decide = sym crate::exports::dlsym::decide_version,
    )
}

/// For the linker a function that is chosen at run time: `dlsym` calls it, under `ld.so`'s lock, to learn the address
/// ([`crate::process::linker_lock`]).
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn qmpi_with_linker_lock() {
    naked_asm!(
        // Rust says @function; of two types the assembler takes this one.
        ".type qmpi_with_linker_lock, @gnu_indirect_function",
        "jmp {resolve}",
        resolve = sym crate::process::linker_lock::resolve,
    )
}
