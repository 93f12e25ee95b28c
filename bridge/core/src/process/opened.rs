//! Libraries that the program opens after start-up: Fortran calls in them enter the stack, and C calls find the version of a wrapper
//! that they ask for.
//!
//! `libqmpi.so` tells when there are any (`entry/src/references/opened.rs`). They are dealt with under `ld.so`'s lock, so that no other
//! thread closes one meanwhile.

use qmpi_loader::Process;
use qmpi_loader::image::Image;
use qmpi_loader::image::listed::{LastLook, Listed};
use qmpi_loader::process::loader_lock;
use qmpi_ring::Moment;

use crate::process::fortran::{self, Fortran};
use crate::process::{environment, stand_ins, unwinders, without_mpi, wrapped};
use crate::{start, versions};

/// The objects that have been dealt with.
static DEALT_WITH: LastLook = LastLook::never();

/// These objects have been dealt with.
pub(crate) fn set(images: &[Image]) {
    DEALT_WITH.set(Listed::of(images));
}

/// Deals with objects that were opened since.
pub(crate) extern "C" fn objects_opened() {
    if !start::is_done() {
        // Of Open MPI, Fortran's library calls the C library by names that libqmpi.so does not have: no first call would come.
        let is_due =
            loader_lock::with(|lock| Process::with_mpi(lock).is_some_and(|process| Fortran::is_there(&process)));
        if is_due {
            start::start(Moment::EarlyCall);
        }
        return;
    }
    loader_lock::with(|lock| {
        let (_, now) = DEALT_WITH.again();
        let (images, new) = (now.images(), now.new_images());
        without_mpi::check(new);
        unwinders::bind(lock, new);
        wrapped::enter_opened(lock, images, new);
        environment::bind(lock, new);
        stand_ins::bind(lock, new);
        versions::bind_opened(lock, images, new);
        fortran::enter_opened(lock, images, new);
    });
}
