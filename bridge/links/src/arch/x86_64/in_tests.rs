//! Text for functions that unit tests are made of.

/// Returns the payload of the trampoline.
macro_rules! return_payload {
    () => {
        "mov rax, r11
        ret"
    };
}
pub(crate) use return_payload;

/// Jumps to where the word `{link}` points.
macro_rules! jump_through_link {
    () => {
        "jmp qword ptr [rip + {link}]"
    };
}
pub(crate) use jump_through_link;
