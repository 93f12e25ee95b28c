//! Which instructions of a function are calls through its object's PLT.
//!
//! The words that change are one instruction each: `bl` and `b`, which reach 128 MB. The bytes are written by way of `/proc/self/mem`, and the
//! kernel makes the caches of instructions follow (`copy_to_user_page`, Linux: arch/arm64/mm/flush.c).

/// A `bl` or `b`: where it is, and what it leads to, both as offsets in the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Branch {
    pub(crate) displacement: usize,
    pub(crate) target: isize,
}

/// Bytes of an instruction, of which the displacement is a part.
pub(crate) const DISPLACEMENT: usize = 4;

/// Bytes of an entry of a PLT that are looked at: a landing pad, `adrp` and `ldr`. What follows may be shorter than the longest entry.
pub(crate) const LONGEST_ENTRY: usize = 12;

/// May a branch be changed while other threads execute it? A `b` or `bl` that becomes another one is among the instructions for which a
/// thread executes either the old or the new one (Arm Architecture Reference Manual, B2.2.5: concurrent modification and execution).
pub(crate) const BRANCHES_MAY_RUN: bool = true;

/// The bits of the displacement, in words.
const IMMEDIATE: u32 = 0x03ff_ffff;

fn instruction(code: &[u8], place: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*code.get(place..)?.first_chunk()?))
}

/// Is it `bl` or `b` (Arm Architecture Reference Manual, C6.2)?
fn is_branch(instruction: u32) -> bool {
    instruction & 0x7c00_0000 == 0x1400_0000
}

/// Calls and jumps in a function's code to targets for which `wanted` has something, with that.
pub(crate) fn branches<T>(code: &[u8], wanted: impl Fn(isize) -> Option<T>) -> impl Iterator<Item = (Branch, T)> {
    let places = (0..code.len()).step_by(size_of::<u32>());
    places.filter_map(move |place| {
        let instruction = instruction(code, place).filter(|instruction| is_branch(*instruction))?;
        let words = ((instruction & IMMEDIATE) << 6).cast_signed() >> 6;
        let target = isize::try_from(place).ok()?.checked_add(words as isize * 4)?;
        Some((Branch { displacement: place, target }, wanted(target)?))
    })
}

/// The instruction `original` at `place`, led to `target`, if that is near enough.
pub(crate) fn displacement(place: usize, target: usize, original: [u8; DISPLACEMENT]) -> Option<[u8; DISPLACEMENT]> {
    let relative = target.wrapping_sub(place).cast_signed();
    if relative % 4 != 0 || !(-0x800_0000..0x800_0000).contains(&relative) {
        return None;
    }
    let words = (relative >> 2) as u32 & IMMEDIATE;
    Some((u32::from_le_bytes(original) & !IMMEDIATE | words).to_le_bytes())
}

/// The word that an entry of the PLT jumps through, if this is one that begins at `address`.
///
/// `adrp x16, page; ldr x17, [x16, offset]`, behind `bti c` where the linker was asked for that.
pub(crate) fn word_of_entry(code: &[u8], address: usize) -> Option<usize> {
    const BTI_C: u32 = 0xd503_245f;
    let skipped = if instruction(code, 0)? == BTI_C { 4 } else { 0 };
    let (adrp, ldr) = (instruction(code, skipped)?, instruction(code, skipped + 4)?);
    if adrp & 0x9f00_001f != 0x9000_0010 || ldr & 0xffc0_03ff != 0xf940_0211 {
        return None;
    }
    // 21 bits, of which the two lowest stand apart; with their sign.
    let pages = ((adrp >> 5 & 0x7_ffff) << 2 | adrp >> 29 & 3) << 11;
    let distance = (pages.cast_signed() >> 11) as isize * 4096;
    Some(((address + skipped) & !4095).wrapping_add_signed(distance) + (ldr >> 10 & 0xfff) as usize * 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(instructions: &[u32]) -> Vec<u8> {
        instructions.iter().flat_map(|instruction| instruction.to_le_bytes()).collect()
    }

    #[test]
    fn calls_and_jumps() {
        // nop; bl +8; b -4; b.eq +8; ret
        let code = code(&[0xd503_201f, 0x9400_0002, 0x17ff_ffff, 0x5400_0040, 0xd65f_03c0]);
        let all = |code| branches(code, |_| Some(())).map(|(branch, ())| branch).collect::<Vec<_>>();
        let both = all(&code);
        assert_eq!(both, [Branch { displacement: 4, target: 12 }, Branch { displacement: 8, target: 4 }]);
        assert_eq!(branches(&code, |target| (target == 4).then_some(7)).collect::<Vec<_>>(), [(both[1], 7)]);
        assert_eq!(all(&code[..7]), []);
    }

    #[test]
    fn entries_of_the_linkage_table() {
        // adrp x16, +16 pages; ldr x17, [x16, #0xfb8]; add x16, x16, #0xfb8; br x17
        let entry = [0x9000_0090, 0xf947_de11, 0x913e_e210, 0xd61f_0220];
        assert_eq!(word_of_entry(&code(&entry), 0x1_0540), Some(0x2_0fb8));
        let guarded = code(&[&[0xd503_245f], &entry[..]].concat());
        assert_eq!(word_of_entry(&guarded, 0x1_0540), Some(0x2_0fb8));
        assert_eq!(word_of_entry(&code(&entry[1..]), 0x1_0540), None);
        assert_eq!(word_of_entry(&code(&entry[..1]), 0x1_0540), None);
    }

    #[test]
    fn how_far_a_branch_goes() {
        let call = 0x9400_0000_u32.to_le_bytes();
        let jump = 0x1400_0005_u32.to_le_bytes();
        assert_eq!(displacement(0x1000, 0x1008, call), Some(0x9400_0002_u32.to_le_bytes()));
        assert_eq!(displacement(0x1000, 0xffc, jump), Some(0x17ff_ffff_u32.to_le_bytes()));
        assert_eq!(displacement(0x1000_0000, 0x17ff_fffc, call), Some(0x95ff_ffff_u32.to_le_bytes()));
        assert_eq!(displacement(0x1000_0000, 0x1800_0000, call), None);
        assert_eq!(displacement(0x1000_0000, 0x0800_0000, call), Some(0x9600_0000_u32.to_le_bytes()));
        assert_eq!(displacement(0x1000, 0x1002, call), None);
    }
}
