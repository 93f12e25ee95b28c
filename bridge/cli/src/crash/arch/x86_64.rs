//! x86-64.

use qmpi_ring::arch::registers::{INSTRUCTION, STACK_POINTER};

use super::super::process::Process;
use super::super::unwind::Values;

/// Whose instructions tables may have, besides those of DWARF.
pub(in super::super) const VENDOR: gimli::Vendor = gimli::Vendor::Default;

/// The address that a return address stands for.
pub(in super::super) const fn code(address: u64) -> u64 {
    address
}

/// Does a call end at this address? `e8` and four bytes, or `ff /2` with up to six.
pub(in super::super) fn ends_call(process: &Process, address: u64) -> bool {
    let Some(bytes) = process.read(address.wrapping_sub(7), 7) else { return false };
    let indirect = |length: usize| bytes[7 - length] == 0xff && bytes[8 - length] >> 3 & 7 == 2;
    bytes[2] == 0xe8 || [2, 3, 4, 6, 7].into_iter().any(indirect)
}

/// The caller, if a call led to where no code is: the return address is on top.
pub(in super::super) fn from_nowhere(process: &Process, values: &Values) -> Option<Values> {
    let mut caller = *values;
    caller[INSTRUCTION] = process.word(values[STACK_POINTER])?;
    caller[STACK_POINTER] += 8;
    Some(caller)
}

/// What a signal interrupted, if this is the kernel's frame of one: glibc's table says it.
pub(in super::super) const fn interrupted(_: &Process, _: &Values) -> Option<Values> {
    None
}

/// The caller of a function that calls none and has no table: not known by its registers.
pub(in super::super) const fn of_leaf(_: &Process, _: &Values) -> Option<Values> {
    None
}

/// Code without tables mostly has no use for `rbp` as a frame pointer, and for other things.
pub(in super::super) const RECORD_MAY_BE_OUTER: bool = false;
