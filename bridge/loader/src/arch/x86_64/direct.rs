//! Which instructions of a function are calls through its object's PLT.

use yaxpeax_arch::LengthedInstruction;
use yaxpeax_x86::amd64::InstDecoder;

/// A near call or jump: where its 32-bit displacement is, and what it leads to, both as offsets in the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Branch {
    pub(crate) displacement: usize,
    pub(crate) target: isize,
}

/// Bytes of a displacement.
pub(crate) const DISPLACEMENT: usize = 4;

/// Bytes of the longest entry of a PLT, and of any part of one.
pub(crate) const LONGEST_ENTRY: usize = 16;

/// May a branch be changed while other threads execute it? Not without stopping them (Intel SDM 3A, 9.1.3: cross-modifying code).
pub(crate) const BRANCHES_MAY_RUN: bool = false;

/// Near calls and jumps in a function's code to targets for which `wanted` has something, with that.
///
/// What looks like one may be part of another instruction, so the code is decoded from its beginning, as far as needed.
pub(crate) fn branches<T>(code: &[u8], wanted: impl Fn(isize) -> Option<T>) -> impl Iterator<Item = (Branch, T)> {
    // The first instruction that was not decoded, as long as all could be; and how many bytes were looked at.
    let (mut decoded, mut seen) = (Some(0), 0);
    std::iter::from_fn(move || {
        // call rel32, jmp rel32
        while let Some(skipped) = code.get(seen..)?.iter().position(|byte| byte & 0xfe == 0xe8) {
            let displacement = seen + skipped + 1;
            seen = displacement;
            let target = target(code, displacement)?;
            let Some(found) = wanted(target) else { continue };
            let end = displacement + DISPLACEMENT;
            let mut place = decoded.take()?;
            let length = loop {
                let length = length(&code[place..])?;
                if place + length >= end {
                    break length;
                }
                place += length;
            };
            decoded = Some(place);
            // Alone, or behind the prefix `bnd`.
            let opcode = displacement - 1;
            let begins = place == opcode || (place + 1 == opcode && code[place] == 0xf2);
            if begins && place + length == end {
                return Some((Branch { displacement, target }, found));
            }
        }
        None
    })
}

/// The length of the first instruction.
fn length(code: &[u8]) -> Option<usize> {
    let instruction = InstDecoder::default().decode_slice(code).ok()?;
    usize::try_from(instruction.len().to_const()).ok()
}

fn target(code: &[u8], displacement: usize) -> Option<isize> {
    let bytes = code.get(displacement..displacement + DISPLACEMENT)?;
    let relative = i32::from_le_bytes(bytes.try_into().ok()?);
    isize::try_from(displacement + DISPLACEMENT).ok()?.checked_add(relative as isize)
}

/// The displacement that leads from the one at `place` to `target`, if it is near enough. What was there is of no interest here.
pub(crate) fn displacement(place: usize, target: usize, _: [u8; DISPLACEMENT]) -> Option<[u8; DISPLACEMENT]> {
    let relative = target.wrapping_sub(place + DISPLACEMENT).cast_signed();
    i32::try_from(relative).ok().map(i32::to_le_bytes)
}

/// The word that an entry of the PLT jumps through, if this is one that begins at `address`.
///
/// `jmp *word(%rip)`, behind `endbr64` and with the prefix `bnd` where the linker was asked for that.
pub(crate) fn word_of_entry(code: &[u8], address: usize) -> Option<usize> {
    const ENDBR64: &[u8] = &[0xf3, 0x0f, 0x1e, 0xfa];
    const BND: &[u8] = &[0xf2];
    const JUMP: &[u8] = &[0xff, 0x25];
    let rest = code.strip_prefix(ENDBR64).unwrap_or(code);
    let rest = rest.strip_prefix(BND).unwrap_or(rest).strip_prefix(JUMP)?;
    let relative = i32::from_le_bytes(*rest.first_chunk()?);
    let end = address + (code.len() - rest.len()) + DISPLACEMENT;
    Some(end.wrapping_add_signed(relative as isize))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: [u8; 5] = [0xe8, 0x10, 0, 0, 0];

    fn all(code: &[u8]) -> Vec<Branch> {
        branches(code, |_| Some(())).map(|(branch, ())| branch).collect()
    }

    fn displacements(code: &[u8]) -> Vec<usize> {
        all(code).iter().map(|branch| branch.displacement).collect()
    }

    #[test]
    fn calls_and_jumps_with_and_without_a_prefix() {
        assert_eq!(all(&CALL), [Branch { displacement: 1, target: 0x15 }]);
        let code = [&[0x48, 0x83, 0xec, 0x08], &CALL[..], &[0xf2], &CALL[..], &[0xe9, 0xf0, 0xff, 0xff, 0xff]].concat();
        assert_eq!(displacements(&code), [5, 11, 16]);
        let mut wanted = branches(&code, |target| (target == 4).then_some(7));
        assert_eq!((wanted.next(), wanted.next()), (Some((Branch { displacement: 16, target: 4 }, 7)), None));
    }

    /// Every instruction here has the bytes of a call inside.
    #[test]
    fn no_parts_of_other_instructions() {
        let immediate = [&[0x48, 0xb8], &CALL[..], &[0, 0, 0]].concat(); // movabs $..., %rax
        let displaced = [0x8b, 0x80, 0xe8, 0x10, 0, 0, 0x90]; // mov 0x10e8(%rax), %eax; nop
        let relative = [0xe8, 0xe8, 0x10, 0, 0, 0x90]; // call, whose displacement begins as a call does
        assert_eq!(displacements(&immediate), [0; 0]);
        assert_eq!(displacements(&displaced), [0; 0]);
        assert_eq!(displacements(&relative), [1]);
        assert_eq!(displacements(&[&immediate[..], &displaced, &CALL].concat()), [18]);
    }

    /// What cannot be decoded ends the search; what is cut off is none.
    #[test]
    fn other_bytes() {
        assert_eq!(displacements(&[&[0x06], &CALL[..]].concat()), [0; 0]); // push %es: not in 64-bit code
        for len in 0..CALL.len() {
            assert_eq!(displacements(&CALL[..len]), [0; 0]);
        }
    }

    #[test]
    fn entries_of_the_linkage_table() {
        let jump = [0xff, 0x25, 0x00, 0x10, 0, 0];
        let with = |prefix: &[u8]| word_of_entry(&[prefix, &jump].concat(), 0x4000);
        assert_eq!(with(&[]), Some(0x5006));
        assert_eq!(with(&[0xf3, 0x0f, 0x1e, 0xfa]), Some(0x500a));
        assert_eq!(with(&[0xf3, 0x0f, 0x1e, 0xfa, 0xf2]), Some(0x500b));
        assert_eq!(with(&[0x90]), None);
        assert_eq!(word_of_entry(&jump[..5], 0x4000), None);
    }

    #[test]
    fn how_far_a_branch_goes() {
        assert_eq!(displacement(0x1001, 0x1005, [0; 4]), Some([0; 4]));
        assert_eq!(displacement(0x1001, 0x1000, [0; 4]), Some((-5i32).to_le_bytes()));
        assert_eq!(displacement(0x1000, 0x1004 + 0x7fff_ffff, [0; 4]), Some(i32::MAX.to_le_bytes()));
        assert_eq!(displacement(0x1000, 0x1004 + 0x8000_0000, [0; 4]), None);
        assert_eq!(displacement(0x7fff_0000_0000, 0x1000, [0; 4]), None);
    }
}
