//! Sizes of stubs on AArch64, and how an entry stub names its slot.
//!
//! `x16` and `x17` are what a linkage stub may use (AAPCS64 6.1.1): an entry of a PLT leaves nothing in them that is wanted.
//!
//! No stub begins with a landing pad (`bti c`): objects that are linked from Rust's `std` are not marked for BTI, so `ld.so` does not guard
//! their pages. Return addresses are signed by the function that stores them, never before a call: stubs see and pass on plain ones.

/// Bytes of one lazy stub: two instructions.
pub(crate) const LAZY_SIZE: usize = 8;

/// The instructions of an entry stub that load its slot.
pub(super) type StubCode = [u32; 2];

/// The address of the word that `adrp x16` at `address` and `ldr x16, [x16, ...]` load (Arm Architecture Reference Manual, C6.2).
pub(super) fn slot_named_by([adrp, ldr]: StubCode, address: usize) -> Option<usize> {
    const REGISTER: u32 = 16;
    if adrp & 0x9f00_001f != 0x9000_0000 | REGISTER || ldr & 0xffc0_03ff != 0xf940_0000 | REGISTER << 5 | REGISTER {
        return None;
    }
    // 21 bits, of which the two lowest stand apart; with their sign.
    let pages = ((adrp >> 5 & 0x7_ffff) << 2 | adrp >> 29 & 3) << 11;
    let distance = (pages.cast_signed() >> 11) as isize * 4096;
    Some((address & !4095).wrapping_add_signed(distance) + (ldr >> 10 & 0xfff) as usize * 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slot_that_a_stub_loads() {
        // adrp x16, +1 page; ldr x16, [x16, #8]
        assert_eq!(slot_named_by([0xb000_0010, 0xf940_0610], 0x1_2340), Some(0x1_3008));
        // adrp x16, -1 page
        assert_eq!(slot_named_by([0xf0ff_fff0, 0xf940_0210], 0x1_2340), Some(0x1_1000));
        // adrp x17
        assert_eq!(slot_named_by([0xb000_0011, 0xf940_0610], 0x1_2340), None);
        assert_eq!(slot_named_by([0xb000_0010, 0xf940_0611], 0x1_2340), None);
    }
}
