//! Instructions of AArch64: how long they are, and where they lead.
//!
//! An address takes two instructions here, `adrp` and `add` or `ldr`. Where these stand together they are taken for one, and so is the jump of
//! an entry of a PLT. Encodings: Arm Architecture Reference Manual, C4.1 and C6.2.

use super::{Flow, Register, Value};

/// Bytes of the longest sequence that is taken for one: an entry of a PLT.
pub(super) const LONGEST: usize = 16;

/// Bytes of an instruction.
const SIZE: u64 = 4;

/// The first instruction of `code`, which is at `address`: its length and where it leads. `None`: it is none.
pub(super) fn step(code: &[u8], address: u64) -> Option<(u64, Flow)> {
    let word = |index: usize| Some(u32::from_le_bytes(*code.get(4 * index..)?.first_chunk()?));
    let first = word(0)?;
    if let (Some((register, page)), Some(second)) = (page(first, address), word(1))
        && let Some(value) = second_half(second, register, page)
    {
        let branch =
            |index, register: u32| word(index).filter(|word| word & 0xffdf_ffff == (0xd61f_0000 | register << 5));
        return Some(match value {
            // adrp x16; ldr x17, [x16]; add x16, x16; br x17
            (17, Value::In(word)) if branch(3, 17).is_some() => (4 * SIZE, Flow::JumpThrough(word)),
            (register, Value::In(word)) => match branch(2, register) {
                Some(0xd61f_0000..=0xd61f_ffff) => (3 * SIZE, Flow::JumpThrough(word)),
                Some(_) => (3 * SIZE, Flow::CallThrough(word)),
                None => (2 * SIZE, set(register, value.1)),
            },
            (register, value) => (2 * SIZE, set(register, value)),
        });
    }
    Some((SIZE, flow(first, address)))
}

/// The first argument is what is followed (AAPCS64 6.8.2).
fn set(register: u32, value: Value) -> Flow {
    if register == 0 { Flow::Set(Register::Argument, value) } else { Flow::On }
}

/// `adrp`: the register, and the page.
fn page(word: u32, address: u64) -> Option<(u32, u64)> {
    if word & 0x9f00_0000 != 0x9000_0000 {
        return None;
    }
    let pages = i64::from(((word >> 5 & 0x7_ffff) << 2 | word >> 29 & 3) << 11) << 32 >> 43;
    Some((word & 31, (address & !0xfff).wrapping_add_signed(pages << 12)))
}

/// `add` or `ldr` of an address in this page: the register and what it holds.
fn second_half(word: u32, register: u32, page: u64) -> Option<(u32, Value)> {
    if word >> 5 & 31 != register {
        return None;
    }
    let immediate = u64::from(word >> 10 & 0xfff);
    match word & 0xffc0_0000 {
        0x9100_0000 => Some((word & 31, Value::Address(page.wrapping_add(immediate)))),
        0xf940_0000 => Some((word & 31, Value::In(page.wrapping_add(immediate * 8)))),
        _ => None,
    }
}

fn flow(word: u32, address: u64) -> Flow {
    // A displacement in words: so many bits, from bit `from` on.
    let target = |from: u32, bits: u32| {
        let words = i64::from(word >> from) << (64 - bits) >> (64 - bits);
        address.wrapping_add_signed(words * 4)
    };
    match word {
        _ if word & 0xfc00_0000 == 0x9400_0000 => Flow::Call(target(0, 26)),
        _ if word & 0xfc00_0000 == 0x1400_0000 => Flow::Jump(target(0, 26)),
        // b.cond, cbz and cbnz, tbz and tbnz
        _ if word & 0xff00_0000 == 0x5400_0000 => Flow::Branch(target(5, 19)),
        _ if word & 0x7e00_0000 == 0x3400_0000 => Flow::Branch(target(5, 19)),
        _ if word & 0x7e00_0000 == 0x3600_0000 => Flow::Branch(target(5, 14)),
        // br, blr, ret and the same with signed addresses; brk, udf
        _ if word & 0xfeff_f000 == 0xd61f_0000 && word & 0x0060_0000 == 0 => Flow::JumpAnywhere,
        _ if word & 0xfeff_f000 == 0xd63f_0000 => Flow::CallAnywhere,
        _ if word & 0xfeff_f000 == 0xd65f_0000 => Flow::End,
        _ if word & 0xffe0_0000 == 0xd420_0000 || word & 0xffff_0000 == 0 => Flow::End,
        _ => Flow::On,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_instructions_lead() {
        for (code, length, expected) in [
            (&[0x9400_0002_u32][..], 4, Flow::Call(0x1008)),
            (&[0x97ff_ffff], 4, Flow::Call(0xffc)),
            (&[0x1400_0000], 4, Flow::Jump(0x1000)),
            (&[0x5400_0040], 4, Flow::Branch(0x1008)), // b.eq
            (&[0xb4ff_ffe0], 4, Flow::Branch(0xffc)),  // cbz x0
            (&[0x3700_0040], 4, Flow::Branch(0x1008)), // tbnz w0, #0
            (&[0xd61f_0200], 4, Flow::JumpAnywhere),   // br x16
            (&[0xd63f_0000], 4, Flow::CallAnywhere),   // blr x0
            (&[0xd65f_03c0], 4, Flow::End),            // ret
            (&[0xd65f_0bff], 4, Flow::End),            // retaa
            (&[0xd503_233f], 4, Flow::On),             // paciasp
            (&[0x9000_0000, 0x9100_4000], 8, Flow::Set(Register::Argument, Value::Address(0x1010))),
            (&[0xb000_0000, 0xf940_0400], 8, Flow::Set(Register::Argument, Value::In(0x2008))),
            (&[0xb000_0001, 0xf940_0421], 8, Flow::On),
            (&[0xb000_0001, 0xf940_0421, 0xd63f_0020], 12, Flow::CallThrough(0x2008)),
            (&[0xb000_0010, 0xf940_0611, 0x9100_2210, 0xd61f_0220], 16, Flow::JumpThrough(0x2008)),
        ] {
            let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
            assert_eq!(step(&bytes, 0x1000), Some((length, expected)), "{code:x?}");
        }
        assert_eq!(step(&[0, 0], 0x1000), None);
    }
}
