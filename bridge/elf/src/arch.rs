//! What depends on the processor: where the instructions of a function lead.

use qmpi_dynamic::Machine;

mod aarch64;
mod x86_64;

/// Bytes of the longest instruction, or sequence of instructions that is taken for one.
pub(crate) const LONGEST: usize = if x86_64::LONGEST > aarch64::LONGEST { x86_64::LONGEST } else { aarch64::LONGEST };

/// The first instruction of `code`, which is at `address`: its length and where it leads. `None`: it is none.
pub(crate) fn step(machine: Machine, code: &[u8], address: u64) -> Option<(u64, Flow)> {
    match machine {
        Machine::X86_64 => x86_64::step(code, address),
        Machine::Aarch64 => aarch64::step(code, address),
    }
}

/// Where one instruction leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// To the next one; what the result register holds is not known any more.
    On,
    /// To the next one; the result register is looked at.
    Test,
    /// To this address, or to the next one.
    Branch(u64),
    /// To this address.
    Jump(u64),
    /// To the address in the word at this address.
    JumpThrough(u64),
    /// Somewhere: a table of a `switch`, a tail call of a function pointer.
    JumpAnywhere,
    /// To this address, and then to the next one.
    Call(u64),
    /// To the address in the word at this address, and then to the next one.
    CallThrough(u64),
    /// To a function that only a running process knows, and then to the next one.
    CallAnywhere,
    /// To the address in the result register.
    JumpLoaded,
    /// To the address in the result register, and then to the next one.
    CallLoaded,
    /// Back, or nowhere.
    End,
    /// To the next one; a register holds this from here on.
    Set(Register, Value),
    /// To the next one; the first argument is what the result register holds.
    Pass,
}

/// The registers that are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Register {
    /// The first argument of a call.
    Argument,
    /// The result of a call, which compilers take for other purposes first.
    Result,
}

/// What a register holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value {
    /// This address.
    Address(u64),
    /// What the word at this address holds.
    In(u64),
}
