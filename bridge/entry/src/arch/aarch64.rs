//! Machine code for AArch64: how a call enters the stack.
//!
//! * `MPI_f`, exported: `adrp x16; ldr x16, slot[f]; br x16`. A tail jump keeps the application's return address in `x30`, so the
//!   first layer sees the application as its caller.
//! * Before the slots are filled, each leads to its *lazy stub*, which starts the runtime and then goes on with the call.
//! * `QMPI_f`, exported: a jump by way of the table `SHIFTED`, whose words are filled in when a function is first called.
//! * `dlsym`, `dlvsym`, exported: may change the handle, then go on with a tail jump, too.
//! * `aarch64/exec.rs`: the call of the next layer as tools of the 2018 prototype make it.
//!
//! All exported stubs of a kind lie in a section of their own, for which one entry of `.eh_frame` is written here by hand, as on x86-64.
//! `x16` and `x17` are what a linkage stub may use (AAPCS64 6.1.1): an entry of a PLT leaves nothing in them that is wanted.
//!
//! No stub begins with a landing pad (`bti c`): objects that are linked from Rust's `std` are not marked for BTI, so `ld.so` does not guard
//! their pages. Return addresses are signed by the function that stores them, never before a call: stubs see and pass on plain ones.
#![expect(unsafe_code, reason = "naked functions")]

mod exec;

use core::arch::{global_asm, naked_asm};

use qmpi_abi::COUNT;

qmpi_ring::define_thread_storage!();

/// Bytes of one lazy stub: two instructions. Each runs once at most: packed.
pub(crate) const LAZY_SIZE: usize = 8;
/// Bytes of an entry stub: aligned, so that none crosses a cache line.
const STUB_SIZE: usize = 16;
/// Bytes of a stub of the name-shifted functions. Tools call them now and then, and there are hundreds: packed, not aligned.
const SHIFTED_SIZE: usize = 8;

/// Defines the exported function `$name`, which goes where number `$id` of `$slots` points.
macro_rules! entry_stub {
    ($slots:path, $id:literal $name:ident) => {
        /// One jump: the caller's return address and all arguments stay as they are.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        #[unsafe(link_section = "qmpi_entry")]
        pub extern "C" fn $name() {
            core::arch::naked_asm!(
                "adrp x16, {slots} + 8 * {id}",
                "ldr x16, [x16, :lo12:{slots} + 8 * {id}]",
                "br x16",
                "brk 1",
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
        /// Goes on with the number of the function in `x17`.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        #[unsafe(link_section = "qmpi_shifted")]
        pub extern "C" fn $name() {
            core::arch::naked_asm!(
                "mov w17, {id}",
                "b {to}",
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
    // An address tells which stub it is: the return address stays where it is.
    "adr x17, .",
    "b {first_call}",
    ".endr",
    ".cfi_endproc",
    ".size qmpi_lazy, . - qmpi_lazy",
    ".popsection",
    ".hidden __start_qmpi_entry",
    ".hidden __stop_qmpi_entry",
    ".hidden __start_qmpi_shifted",
    // One entry of .eh_frame for each of the two sections of exported stubs (LSB 10.6.1): at every instruction in them the
    // stack pointer is where it was when the function was called.
    ".pushsection .eh_frame, \"a\", @progbits",
    ".balign 8",
    ".Lqmpi_cie:",
    ".long .Lqmpi_cie_end - .Lqmpi_cie_begin",
    ".Lqmpi_cie_begin:",
    ".long 0",
    ".byte 1",
    ".asciz \"zR\"",
    ".uleb128 4",
    ".sleb128 -8",
    ".byte 30",
    ".uleb128 1",
    ".byte 0x1b",
    // DW_CFA_def_cfa sp + 0; the return address is where it was, in x30.
    ".byte 0x0c, 31, 0",
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
// R_AARCH64_IRELATIVE (ELF for the Arm 64-bit Architecture, 5.7.11): `ld.so` calls a function for its value while it relocates this library.
global_asm!(
    ".pushsection .text.qmpi_fill_slots, \"ax\", @progbits",
    ".hidden qmpi_fill_slots",
    ".globl qmpi_fill_slots",
    ".type qmpi_fill_slots, @gnu_indirect_function",
    "qmpi_fill_slots:",
    "b {fill_slots}",
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
    "brk 1",
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

/// The number of the function whose entry stub is at `address`, if there is one. The stub's instructions name its slot.
pub(crate) fn function_at(address: usize, slots: usize) -> Option<usize> {
    let (start, stop) = ((&raw const __start_qmpi_entry).addr(), (&raw const __stop_qmpi_entry).addr());
    if !(start..stop).contains(&address) {
        return None;
    }
    // SAFETY: an entry stub: `adrp` and `ldr`, readable as all code of this library.
    let [adrp, ldr] = unsafe { core::ptr::with_exposed_provenance::<[u32; 2]>(address).read() };
    let id = slot_of(adrp, ldr, address)?.wrapping_sub(slots) / size_of::<usize>();
    (id < COUNT).then_some(id)
}

/// The address of the word that `adrp x16` at `address` and `ldr x16, [x16, ...]` load (Arm Architecture Reference Manual, C6.2).
fn slot_of(adrp: u32, ldr: u32, address: usize) -> Option<usize> {
    const REGISTER: u32 = 16;
    if adrp & 0x9f00_001f != 0x9000_0000 | REGISTER || ldr & 0xffc0_03ff != 0xf940_0000 | REGISTER << 5 | REGISTER {
        return None;
    }
    // 21 bits, of which the two lowest stand apart; with their sign.
    let pages = ((adrp >> 5 & 0x7_ffff) << 2 | adrp >> 29 & 3) << 11;
    let distance = (pages.cast_signed() >> 11) as isize * 4096;
    Some((address & !4095).wrapping_add_signed(distance) + (ldr >> 10 & 0xfff) as usize * 8)
}

/// The first call of a function, by its lazy stub. Keeps the arguments, asks [`crate::start::first_call`] where to go, and goes
/// there.
#[unsafe(naked)]
extern "C" fn first_call() {
    naked_asm!(
        ".cfi_startproc",
        qmpi_ring::keep_arguments!(),
        "adrp x0, qmpi_lazy",
        "add x0, x0, :lo12:qmpi_lazy",
        "sub x0, x17, x0",
        "bl {resolve}",
        qmpi_ring::go_on_with_arguments!(),
        ".cfi_endproc",
        resolve = sym crate::start::first_call,
    )
}

/// A name-shifted function, whose number is in `x17`.
#[unsafe(naked)]
pub(crate) extern "C" fn shifted() {
    naked_asm!(
        ".cfi_startproc",
        "adrp x16, {functions}",
        "add x16, x16, :lo12:{functions}",
        "ldr x16, [x16, x17, lsl 3]",
        "cbz x16, 2f",
        "br x16",
        "2:",
        qmpi_ring::keep_arguments!(),
        "mov x0, x17",
        "bl {resolve}",
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
        "stp x29, x30, [sp, -32]!",
        ".cfi_def_cfa_offset 32",
        ".cfi_offset x29, -32",
        ".cfi_offset x30, -24",
        "mov x29, sp",
        "str x1, [sp, 16]",
        "mov x2, x30",
        "bl {decide}",
        "mov x16, x1",
        "ldr x1, [sp, 16]",
        "ldp x29, x30, [sp], 32",
        ".cfi_def_cfa_offset 0",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "br x16",
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
        "stp x29, x30, [sp, -32]!",
        ".cfi_def_cfa_offset 32",
        ".cfi_offset x29, -32",
        ".cfi_offset x30, -24",
        "mov x29, sp",
        "stp x1, x2, [sp, 16]",
        "mov x3, x30",
        "bl {decide}",
        "mov x16, x1",
        "ldp x1, x2, [sp, 16]",
        "ldp x29, x30, [sp], 32",
        ".cfi_def_cfa_offset 0",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "br x16",
        ".cfi_endproc",
        decide = sym crate::exports::dlsym::decide_version,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slot_that_a_stub_loads() {
        // adrp x16, +1 page; ldr x16, [x16, #8]
        assert_eq!(slot_of(0xb000_0010, 0xf940_0610, 0x1_2340), Some(0x1_3008));
        // adrp x16, -1 page
        assert_eq!(slot_of(0xf0ff_fff0, 0xf940_0210, 0x1_2340), Some(0x1_1000));
        // adrp x17
        assert_eq!(slot_of(0xb000_0011, 0xf940_0610, 0x1_2340), None);
        assert_eq!(slot_of(0xb000_0010, 0xf940_0611, 0x1_2340), None);
    }
}

/// For the linker a function that is chosen at run time: `dlsym` calls it, under `ld.so`'s lock, to learn the address
/// ([`crate::process::linker_lock`]).
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn qmpi_with_linker_lock() {
    naked_asm!(
        // Rust says @function; of two types the assembler takes this one.
        ".type qmpi_with_linker_lock, @gnu_indirect_function",
        "b {resolve}",
        resolve = sym crate::process::linker_lock::resolve,
    )
}
