//! A function was called that no library of the process has under the profiling name.

use core::ffi::CStr;
use core::mem::MaybeUninit;

/// Exit status of a process that called what there is not, as of `libqmpi.so`.
const FAILED: i32 = 3;
/// Longer lines are cut off.
const LINE: usize = 512;

/// Says which function it was, whose entry point `inside` lies in, and ends the process.
pub(crate) extern "C" fn say(inside: *const libc::c_void) -> ! {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: room for what it writes.
    let found = unsafe { libc::dladdr(inside, info.as_mut_ptr()) } != 0;
    // SAFETY: zero is a value of each of its members.
    let info = unsafe { info.assume_init() };
    let name: &[u8] = if found && !info.dli_sname.is_null() {
        // SAFETY: a C string of this library's symbol table.
        unsafe { CStr::from_ptr(info.dli_sname) }.to_bytes()
    } else {
        b"a function of MPI"
    };
    end(&[name, b" was called, and no MPI library for Fortran in this process has the function"])
}

/// Prints the parts as one line and ends the process.
pub(crate) fn end(parts: &[&[u8]]) -> ! {
    let mut line = [b'\n'; LINE];
    let bytes = b"qmpi: error: ".iter().chain(parts.iter().copied().flatten());
    let mut len = 0;
    // The newline has a place.
    for (place, byte) in line.iter_mut().zip(bytes).take(LINE - 1) {
        *place = *byte;
        len += 1;
    }
    // SAFETY: `len` bytes and the newline behind them are in the array. Nothing is to be done if stderr is closed.
    unsafe { libc::syscall(libc::SYS_write, 2, line.as_ptr(), len + 1) };
    // SAFETY: no memory is touched; the process ends here.
    unsafe { libc::_exit(FAILED) }
}
