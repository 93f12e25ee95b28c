//! A function was called that no library of the process has under the profiling name.

use core::ffi::CStr;
use core::mem::MaybeUninit;

use qmpi_ring::message::fatal;

/// Says which function it was, whose entry point `inside` lies in, and ends the process.
pub(crate) extern "C" fn say(inside: *const libc::c_void) -> ! {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `dladdr` writes one `Dl_info`, for which there is room.
    let found = unsafe { libc::dladdr(inside, info.as_mut_ptr()) } != 0;
    // SAFETY: all bytes are zero or written by `dladdr`, and zero is a value of each member: a null pointer.
    let info = unsafe { info.assume_init() };
    let name: &[u8] = if found && !info.dli_sname.is_null() {
        // SAFETY: not null, so it is a C string of this library's symbol table.
        unsafe { CStr::from_ptr(info.dli_sname) }.to_bytes()
    } else {
        b"a function of MPI"
    };
    fatal(&[name, b" was called, and no MPI library for Fortran in this process has the function"], None)
}
