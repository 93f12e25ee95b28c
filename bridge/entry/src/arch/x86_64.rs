//! Sizes of stubs on x86-64, and how an entry stub names its slot.

/// Bytes of one lazy stub: a call, and a byte behind it, so that the return address lies in the stub.
pub(crate) const LAZY_SIZE: usize = 6;

/// The instruction of an entry stub.
pub(super) type StubCode = [u8; 6];

/// The address of the slot that the instruction at `address` jumps by: `ff 25` and a displacement of four bytes.
pub(super) fn slot_named_by(code: StubCode, address: usize) -> Option<usize> {
    let [0xff, 0x25, a, b, c, d] = code else { return None };
    Some((address + code.len()).wrapping_add_signed(i32::from_le_bytes([a, b, c, d]) as isize))
}
