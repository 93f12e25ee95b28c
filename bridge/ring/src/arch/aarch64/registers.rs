//! A thread's registers as DWARF numbers them (DWARF for the Arm 64-bit Architecture, 4.1).

/// How many are kept: `x0` to `x30`, `sp`, `pc`.
pub const COUNT: usize = 33;
/// The place of the frame pointer, `x29`.
pub const FRAME_POINTER: usize = 29;
/// The column of the return address: where the table of a frame says how its caller goes on, `x30`.
pub const RETURN_ADDRESS: usize = 30;
/// The place of the stack pointer.
pub const STACK_POINTER: usize = 31;
/// The place of the address of the instruction.
pub const INSTRUCTION: usize = 32;
