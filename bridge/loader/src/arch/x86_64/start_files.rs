//! Code of the C library's start files, `crti.o` and `crtn.o`.

/// Is this the beginning of their function `_init`, DT_INIT of nearly every library, which calls `__gmon_start__`?
///
/// ```text
/// endbr64; sub $8,%rsp; mov __gmon_start__@GOTPCREL(%rip),%rax; test %rax,%rax; je 1f; call *%rax; 1: add $8,%rsp; ret
/// ```
pub(crate) fn calls_gmon_start(code: &[u8]) -> bool {
    const LANDING_PAD: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
    const LOAD: [u8; 7] = [0x48, 0x83, 0xec, 0x08, 0x48, 0x8b, 0x05];
    const CALL: [u8; 12] = [0x48, 0x85, 0xc0, 0x74, 0x02, 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x08, 0xc3];
    let code = code.strip_prefix(&LANDING_PAD).unwrap_or(code);
    let behind_load = code.strip_prefix(&LOAD).and_then(|code| code.get(4..));
    behind_load.is_some_and(|code| code.starts_with(&CALL))
}
