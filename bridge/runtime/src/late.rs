//! Libraries that the program opens after the start-up: Python's extension modules, and what they bring.
//!
//! Nobody says when that happens. But whoever opens a library looks something up in it next, and `dlsym` of the process is
//! ours (`dlsym.rs`): it looks here whether there are new objects, which costs a look at a counter if there are none.

use std::sync::atomic::{AtomicU64, Ordering};

use qmpi_loader::image::Image;
use qmpi_loader::{Process, objects};

use crate::fortran::{self, Fortran};
use crate::{known, lacking, start};

/// How many objects had ever been opened at the last look.
static OPENED: AtomicU64 = AtomicU64::new(0);

/// Sees to objects that were opened since the last look.
pub(crate) fn look() {
    let opened = opened();
    if OPENED.swap(opened, Ordering::Relaxed) == opened {
        return;
    }
    if !start::is_done() {
        // Of Open MPI, Fortran's library calls the C library by names that are not ours: no first call would come to us.
        if Process::with_mpi().is_some_and(|process| Fortran::is_there(&process)) {
            start::before_first_call();
        }
        return;
    }
    let images = Image::of_process();
    let known = known::all();
    let is_new = |image: &Image| !known.contains(&image.id());
    lacking::forget(images.iter().filter(|image| is_new(image)));
    known::set(&images);
    fortran::enter_late(images, is_new);
}

/// How many objects the dynamic linker has ever opened.
fn opened() -> u64 {
    objects::find(|info| Some(info.dlpi_adds)).unwrap_or(0)
}
