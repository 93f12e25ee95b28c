//! Text for functions that unit tests are made of.

/// Returns the payload of the trampoline.
macro_rules! return_payload {
    () => {
        "mov x0, x17
        ret"
    };
}
pub(crate) use return_payload;

/// Jumps to where the word `{link}` points.
macro_rules! jump_through_link {
    () => {
        "adrp x16, {link}
        ldr x16, [x16, :lo12:{link}]
        br x16"
    };
}
pub(crate) use jump_through_link;
