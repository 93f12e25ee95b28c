//! AArch64.

use qmpi_ring::arch::registers::{INSTRUCTION, RETURN_ADDRESS, STACK_POINTER};

use super::super::process::Process;
use super::super::unwind::Values;

/// The instructions to which a signal handler returns: `mov x8, #__NR_rt_sigreturn` and `svc #0`.
const RETURN_FROM_SIGNAL: u64 = 0xd400_0001_d280_1168;
/// Where the kernel's frame has `x0` (asm/sigcontext.h): behind 128 bytes of `siginfo_t`, and in `ucontext_t` behind flags, link, stack,
/// 128 bytes of masks, alignment and the address of the fault.
const REGISTERS: u64 = 128 + 176 + 8;

/// The address that a return address stands for: without a signature (PAC) in its upper bits.
pub(in super::super) const fn code(address: u64) -> u64 {
    address & ((1 << 48) - 1)
}

/// Does a call end at this address? `bl`, `blr`, or `blr` with authentication.
pub(in super::super) fn ends_call(process: &Process, address: u64) -> bool {
    let Some(bytes) = process.read(address.wrapping_sub(4), 4) else { return false };
    let word = bytes.into_iter().rev().fold(0, |word, byte| word << 8 | u32::from(byte));
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
