//! The start files with which a library of the system is linked.
#![expect(unsafe_code, reason = "dlopen")]

use qmpi_dynamic::initialization::Called;

use super::calls_gmon_start;
use crate::image::Image;

#[test]
fn the_initialization_of_a_library_is_known() {
    // Rust's std has opened it, where that is not linked by Zig.
    // SAFETY: its constructors ask the processor what it can do.
    unsafe { libc::dlopen(c"libgcc_s.so.1".as_ptr(), libc::RTLD_LAZY) };
    let images = Image::of_process();
    let library = images.iter().find(|image| image.name() == "libgcc_s.so.1").expect("the library is there");
    let address = Called::at_begin(*library.mapped(), 0).and_then(|called| called.single()).expect("DT_INIT");
    let mut code = [0; 32];
    library.mapped().bytes(address).expect("code").copy_to(&mut code);
    assert!(calls_gmon_start(&code), "{code:x?}");
    assert!(!calls_gmon_start(&code[8..]), "another beginning");
    assert!(!calls_gmon_start(&code[..16]), "no end");
}
