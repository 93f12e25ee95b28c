//! Code of the C library's start files, `crti.o` and `crtn.o`.

/// Is this the beginning of their function `_init`, DT_INIT of nearly every library, which calls `__gmon_start__`?
///
/// ```text
/// paciasp or bti c; stp x29, x30, [sp, -16]!; mov x29, sp; bl call_weak_fn; ldp x29, x30, [sp], 16; autiasp; ret
/// ```
pub(crate) fn calls_gmon_start(code: &[u8]) -> bool {
    const HINT: [u32; 2] = [0xd503_233f, 0xd503_245f];
    const FRAME: [u32; 2] = [0xa9bf_7bfd, 0x9100_03fd];
    const LEAVE: u32 = 0xa8c1_7bfd;
    let (words, _) = code.as_chunks::<4>();
    let mut words = words.iter().map(|word| u32::from_le_bytes(*word)).skip_while(|word| HINT.contains(word));
    let has_frame = FRAME.into_iter().all(|wanted| words.next() == Some(wanted));
    has_frame && words.next().is_some_and(|word| word >> 26 == 0b10_0101) && words.next() == Some(LEAVE)
}
