//! References of an object that are bound anew, and what is said of it.

use qmpi_dynamic::LinkerLock;
use qmpi_loader::image::Image;
use qmpi_loader::image::rebind::{self, Reference};
use qmpi_system::log;

/// Points references of `image` for which `target` has an address there; `what` says where these lead.
pub(super) fn rebind(lock: &LinkerLock, image: &Image, what: &str, target: impl Fn(&Reference<'_>) -> Option<usize>) {
    say(image, rebind::rebind(lock, image, target), what);
}

/// Tells, at the level debug, of so many references of an object that were bound anew.
pub(super) fn say(image: &Image, count: usize, what: &str) {
    if count > 0 {
        log::debug(|| format!("{}: {count} references {what}", image.path().display()));
    }
}
