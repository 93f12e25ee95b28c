//! The program's calls of `dlopen` pass by the loader once there is a tool in a namespace (`qmpi_loader::stand_ins`): what the program opens
//! may be that tool, or refer to what it opens.
//!
//! Not those of the MPI library and of what is there by it at start-up: it opens parts of its own.
//!
//! References that a layer's wrapper of `dlopen` has, or a definition of the program's own, stay: the wrapper goes on by way of the loader.

use std::sync::atomic::{AtomicBool, Ordering};

use qmpi_dynamic::LinkerLock;
use qmpi_loader::image::Image;
use qmpi_loader::image::rebind::{self, Which};
use qmpi_loader::process::dlsym;
use qmpi_loader::{Process, stand_ins};
use qmpi_system::log;

use crate::ring::is_entry;

/// Whether calls pass by.
static ARE_LED: AtomicBool = AtomicBool::new(false);

/// Leads calls by the loader, if there is a tool and they are not led yet.
pub(crate) fn begin(lock: &LinkerLock, process: &Process) {
    if stand_ins::may_be_needed() && !ARE_LED.swap(true, Ordering::Relaxed) {
        lead(lock, process.images().iter().filter(|image| !process.is_shared(image.name())));
    }
}

/// Leads calls of these objects, which have been opened since, if others are led.
pub(crate) fn bind(lock: &LinkerLock, new: &[Image]) {
    if ARE_LED.load(Ordering::Relaxed) {
        lead(lock, new);
    }
}

fn lead<'a>(lock: &LinkerLock, images: impl IntoIterator<Item = &'a Image>) {
    let (Some(global), address) = (dlsym::global(c"dlopen"), stand_ins::dlopen_of_program()) else { return };
    for image in images {
        if is_entry(image) || image.contains(address) || !image.refers_to(c"dlopen") {
            continue;
        }
        let count = rebind::exchange_like(
            lock,
            image,
            Which::All,
            |start| start == *b"dlop",
            |reference, held| {
                // Bound, or not yet.
                let is_process = || held() == global || reference.is_call && image.contains(held());
                (reference.name == c"dlopen" && is_process()).then_some(address)
            },
        );
        log::debug(|| format!("{}: {count} references to dlopen come by", image.path().display()));
    }
}
