//! Libraries that the program opens after the start-up: Python's extension modules, and what they bring.
//!
//! Nobody says when that happens. But whoever opens a library looks something up in it next, and `dlsym` of the process is
//! ours (`lacking.rs`): it looks here whether there are new objects, which costs a look at a counter if there are none.
#![expect(unsafe_code, reason = "asks the dynamic linker for a counter")]

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use qmpi_loader::Process;
use qmpi_loader::image::Image;

use crate::fortran::{self, Fortran};
use crate::{lacking, start};

/// How many objects had ever been opened at the last look.
static OPENED: AtomicU64 = AtomicU64::new(0);
/// The objects that have been seen to.
static KNOWN: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// These have been seen to.
pub(crate) fn seen(images: &[Image]) {
    *KNOWN.lock().unwrap_or_else(PoisonError::into_inner) = images.iter().map(Image::id).collect();
}

/// Sees to objects that were opened since the last look.
pub(crate) fn look() {
    let opened = opened();
    if OPENED.swap(opened, Ordering::Relaxed) == opened {
        return;
    }
    if !start::is_done() {
        // Of Open MPI, Fortran's library calls the C library by names that are not ours: no first call would come to us.
        if Process::has_mpi() && Process::with_mpi().is_some_and(|process| Fortran::is_there(&process)) {
            start::before_first_call();
        }
        return;
    }
    let images = Image::of_process();
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let is_new = |image: &Image| !known.contains(&image.id());
    lacking::forget(images.iter().filter(|image| is_new(image)));
    fortran::enter_late(is_new);
    seen(&images);
}

/// How many objects the dynamic linker has ever opened.
fn opened() -> u64 {
    extern "C" fn first(info: *mut libc::dl_phdr_info, _: usize, opened: *mut c_void) -> c_int {
        // SAFETY: `ld.so` hands a valid description to each call.
        let info = unsafe { &*info };
        // SAFETY: the number below.
        unsafe { *opened.cast::<u64>() = info.dlpi_adds };
        1
    }
    let mut opened = 0u64;
    // SAFETY: the callback's type is what the function wants, and it does not unwind.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut opened).cast()) };
    opened
}
