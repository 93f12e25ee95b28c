//! One instruction of x86-64: how long it is, and where it leads.

use yaxpeax_arch::LengthedInstruction;
use yaxpeax_x86::amd64::InstDecoder;

use super::{Flow, Register, Value};

/// Bytes of the longest instruction.
pub(super) const LONGEST: usize = 15;

/// The first instruction of `code`, which is at `address`: its length and where it leads. `None`: it is none.
pub(super) fn step(code: &[u8], address: u64) -> Option<(u64, Flow)> {
    let instruction = InstDecoder::default().decode_slice(code).ok()?;
    let length = usize::try_from(instruction.len().to_const()).ok()?;
    let bytes = code.get(..length)?;
    let end = address.wrapping_add(length as u64);
    Some((length as u64, flow(bytes, end)))
}

fn flow(bytes: &[u8], end: u64) -> Flow {
    // Displacements are the last bytes, and count from the end.
    let short = || end.wrapping_add_signed(i64::from(bytes.last().copied().unwrap_or(0).cast_signed()));
    let near = || {
        let displacement = bytes.last_chunk().map_or(0, |bytes| i32::from_le_bytes(*bytes));
        end.wrapping_add_signed(i64::from(displacement))
    };
    // `bnd` and `notrack`, `rep` of `rep ret`, and `addr32`, which a linker puts before a call that it has made direct.
    let prefixes = bytes.iter().take_while(|byte| matches!(byte, 0xf2 | 0xf3 | 0x3e | 0x2e | 0x66 | 0x67)).count();
    match bytes.get(prefixes..).unwrap_or_default() {
        [0xe8, ..] => Flow::Call(near()),
        [0xe9, ..] => Flow::Jump(near()),
        [0xeb, ..] => Flow::Jump(short()),
        [0x70..=0x7f | 0xe0..=0xe3, ..] => Flow::Branch(short()),
        [0x0f, 0x80..=0x8f, ..] => Flow::Branch(near()),
        [0xc2 | 0xc3 | 0xca | 0xcb | 0xcc | 0xcf | 0xf4, ..] | [0x0f, 0x0b, ..] => Flow::End,
        // Group 5: call and jump through a register or a word of memory; `mod` 0 with `rm` 5 is relative to the end.
        [0xff, 0x15, _, _, _, _] => Flow::CallThrough(near()),
        [0xff, 0x25, _, _, _, _] => Flow::JumpThrough(near()),
        // Through %rax: what weak references are called by.
        [0xff, 0xd0] => Flow::CallLoaded,
        [0xff, 0xe0] => Flow::JumpLoaded,
        [0x40..=0x4f, 0xff, modrm, ..] | [0xff, modrm, ..] if (modrm >> 3) & 7 == 2 => Flow::CallAnywhere,
        [0x40..=0x4f, 0xff, modrm, ..] | [0xff, modrm, ..] if (modrm >> 3) & 7 == 4 => Flow::JumpAnywhere,
        // lea and mov to %rdi, the first argument (psABI 3.2.3), and to %rax.
        [0x48, 0x8d, 0x3d, _, _, _, _] => Flow::Set(Register::Argument, Value::Address(near())),
        [0x48, 0x8b, 0x3d, _, _, _, _] => Flow::Set(Register::Argument, Value::In(near())),
        [0x48, 0x8d, 0x05, _, _, _, _] => Flow::Set(Register::Result, Value::Address(near())),
        [0x48, 0x8b, 0x05, _, _, _, _] => Flow::Set(Register::Result, Value::In(near())),
        [0x48, 0x89, 0xc7] => Flow::Pass,
        [0x48, 0x85, 0xc0] => Flow::Test,
        _ => Flow::On,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_instructions_lead() {
        for (code, length, expected) in [
            (&[0xe8, 1, 0, 0, 0][..], 5, Flow::Call(0x1006)),
            (&[0xf2, 0xe9, 0xfa, 0xff, 0xff, 0xff], 6, Flow::Jump(0x1000)),
            (&[0xeb, 0xfe], 2, Flow::Jump(0x1000)),
            (&[0x74, 2], 2, Flow::Branch(0x1004)),
            (&[0x0f, 0x84, 0, 1, 0, 0], 6, Flow::Branch(0x1106)),
            (&[0xff, 0x25, 0x10, 0, 0, 0], 6, Flow::JumpThrough(0x1016)),
            (&[0xff, 0x15, 0x10, 0, 0, 0], 6, Flow::CallThrough(0x1016)),
            (&[0xff, 0xd0], 2, Flow::CallLoaded),
            (&[0xff, 0x50, 0x18], 3, Flow::CallAnywhere),
            (&[0x48, 0x8b, 0x05, 0, 0, 0, 0], 7, Flow::Set(Register::Result, Value::In(0x1007))),
            (&[0x41, 0xff, 0xe4], 3, Flow::JumpAnywhere),
            (&[0x3e, 0xff, 0xe0], 3, Flow::JumpLoaded),
            (&[0xf3, 0xc3], 2, Flow::End),
            (&[0xf3, 0x0f, 0x1e, 0xfa], 4, Flow::On),
            (&[0x48, 0x8d, 0x3d, 0xf9, 0xff, 0xff, 0xff], 7, Flow::Set(Register::Argument, Value::Address(0x1000))),
            (&[0x48, 0x89, 0xc7], 3, Flow::Pass),
            (&[0x48, 0x85, 0xc0], 3, Flow::Test),
            (&[0x48, 0x83, 0xec, 8], 4, Flow::On),
        ] {
            assert_eq!(step(code, 0x1000), Some((length, expected)), "{code:x?}");
        }
    }
}
