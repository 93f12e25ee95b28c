//! AArch64.

use qmpi_ring::arch::registers::{INSTRUCTION, RETURN_ADDRESS, STACK_POINTER};

use super::super::process::Process;
use super::super::unwind::Values;

/// The instructions to which a signal handler returns: `mov x8, #__NR_rt_sigreturn` and `svc #0`.
const RETURN_FROM_SIGNAL: u64 = 0xd400_0001_d280_1168;
/// Where the kernel's frame has `x0` (asm/sigcontext.h): behind 128 bytes of `siginfo_t`, and in `ucontext_t` behind flags, link, stack,
/// 128 bytes of masks, alignment and the address of the fault.
const REGISTERS: u64 = 128 + 176 + 8;

/// Whose instructions tables may have, besides those of DWARF: one says that a return address is signed.
pub(in super::super) const VENDOR: gimli::Vendor = gimli::Vendor::AArch64;

/// The address that a return address stands for: without a signature (PAC) in its upper bits.
pub(in super::super) const fn code(address: u64) -> u64 {
    address & ((1 << 48) - 1)
}

/// Does a call end at this address? `bl`, `blr`, or `blr` with authentication.
pub(in super::super) fn ends_call(process: &Process, address: u64) -> bool {
    let Some(word) = instruction(process, address.wrapping_sub(4)) else { return false };
    word & 0xfc00_0000 == 0x9400_0000 || word & 0xffff_fc1f == 0xd63f_0000 || word & 0xfeff_f800 == 0xd63f_0800
}

/// The caller, if a call led to where no code is.
pub(in super::super) fn from_nowhere(_: &Process, values: &Values) -> Option<Values> {
    let mut caller = *values;
    caller[INSTRUCTION] = code(values[RETURN_ADDRESS]);
    Some(caller)
}

/// What a signal interrupted, if this is the kernel's frame of one: its function has no table that gives all registers.
pub(in super::super) fn interrupted(process: &Process, values: &Values) -> Option<Values> {
    if process.word(values[INSTRUCTION])? != RETURN_FROM_SIGNAL {
        return None;
    }
    let mut caller = *values;
    let first = values[STACK_POINTER] + REGISTERS;
    // `x0` to `x30`, `sp` and `pc` are in the order of their numbers.
    for (number, register) in caller.iter_mut().enumerate() {
        *register = process.word(first + number as u64 * 8)?;
    }
    Some(caller)
}

/// The caller of a function that calls none and has no table: `x30` leads there, unless the function has called others. Then it was not called
/// by the instruction before.
pub(in super::super) fn of_leaf(process: &Process, values: &Values) -> Option<Values> {
    /// A function that calls none is not longer.
    const LONGEST: u64 = 4096;
    let back = code(values[RETURN_ADDRESS]);
    let call = instruction(process, back.wrapping_sub(4))?;
    let distance = i64::from((call << 6).cast_signed() >> 6) * 4;
    let called = back.wrapping_sub(4).wrapping_add_signed(distance);
    let is_caller = call & 0xfc00_0000 == 0x9400_0000 && values[INSTRUCTION].wrapping_sub(called) < LONGEST;
    is_caller.then(|| {
        let mut caller = *values;
        caller[INSTRUCTION] = back;
        caller
    })
}

/// Code without tables leaves `x29` as it is: it points to a frame that has called it, if not at once.
pub(in super::super) const RECORD_MAY_BE_OUTER: bool = true;

fn instruction(process: &Process, address: u64) -> Option<u32> {
    Some(u32::from_le_bytes(process.read(address, 4)?.try_into().ok()?))
}
