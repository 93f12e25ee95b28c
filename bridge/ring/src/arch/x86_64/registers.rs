//! A thread's registers as DWARF numbers them (psABI, figure 3.36).

/// How many are kept: the general ones, and the column of the return address.
pub const COUNT: usize = 17;
/// The place of the frame pointer, `rbp`.
pub const FRAME_POINTER: usize = 6;
/// The place of the stack pointer, `rsp`.
pub const STACK_POINTER: usize = 7;
/// The column of the return address: where the table of a frame says how its caller goes on.
pub const RETURN_ADDRESS: usize = 16;
/// The place of the address of the instruction.
pub const INSTRUCTION: usize = RETURN_ADDRESS;
