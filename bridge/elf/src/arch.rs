//! What depends on the processor: where the instructions of a function lead.

#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::{LONGEST, RELATIVE, step};

/// Where one instruction leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// To the next one.
    On,
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
    /// Back, or nowhere.
    End,
    /// To the next one; the first argument of a call that follows is this address.
    Argument(u64),
    /// To the next one; the first argument is the address in the word at this address.
    ArgumentIn(u64),
}
