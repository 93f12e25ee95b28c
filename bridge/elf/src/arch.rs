//! What depends on the processor: where the instructions of a function lead.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::{LONGEST, RELATIVE, step};

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::{LONGEST, RELATIVE, step};

/// Where one instruction leads.
#[cfg_attr(target_arch = "aarch64", expect(dead_code, reason = "a call through a register is not followed there"))]
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
#[cfg_attr(target_arch = "aarch64", expect(dead_code, reason = "a call through a register is not followed there"))]
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
