//! The program's calls of `dlopen` pass by the loader once a tool has opened a library with RTLD_GLOBAL (`qmpi_loader::plugins`): what the
//! program opens may refer to it.
//!
//! References that a layer's wrapper of `dlopen` has, or a definition of the program's own, stay: the wrapper goes on by way of the loader.

use std::sync::atomic::{AtomicBool, Ordering};

use qmpi_loader::image::Image;
use qmpi_loader::image::rebind::{self, Which};
use qmpi_loader::process::dlsym;
use qmpi_loader::{log, plugins};

use crate::ring::is_entry;

/// Whether there may be such a library.
static HAS_ANY: AtomicBool = AtomicBool::new(false);

/// Waits for the first one.
pub(crate) fn prepare() {
    plugins::on_first(|| {
        HAS_ANY.store(true, Ordering::Relaxed);
        bind(&Image::of_process());
    });
}

/// Leads calls of these objects by the loader, if there may be such a library.
pub(crate) fn bind<'a>(images: impl IntoIterator<Item = &'a Image>) {
    if !HAS_ANY.load(Ordering::Relaxed) {
        return;
    }
    let (Some(global), address) = (dlsym::global(c"dlopen"), plugins::dlopen_of_program()) else { return };
    for image in images {
        if is_entry(image) || image.contains(address) || !image.refers_to(c"dlopen") {
            continue;
        }
        let count = rebind::exchange(image, Which::All, |reference, held| {
            // Bound, or not yet.
            let is_process = || held() == global || reference.is_call && image.contains(held());
            (reference.name == c"dlopen" && is_process()).then_some(address)
        });
        log::debug(|| format!("{}: {count} references to dlopen show what tools made global", image.path().display()));
    }
}
