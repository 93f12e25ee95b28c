//! The start files with which this program is linked.
#![expect(unsafe_code, reason = "reads code of this program")]

use super::calls_gmon_start;

unsafe extern "C" {
    fn _init();
}

#[test]
fn the_initialization_of_this_program_is_known() {
    // SAFETY: code of this program, which goes on behind it.
    let code = unsafe { std::slice::from_raw_parts(_init as *const u8, 32) };
    assert!(calls_gmon_start(code), "{code:x?}");
    assert!(!calls_gmon_start(&code[8..]), "another beginning");
    assert!(!calls_gmon_start(&code[..16]), "no end");
}
