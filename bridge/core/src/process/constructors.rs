//! Libraries that the program opens, before their constructors run: where those may call wrappers, `libqmpi.so` is told by each library that
//! is initialized (`entry/src/exports/constructors.rs`), and here by those that do not tell.
//!
//! `ld.so` asks for the address of `__gmon_start__` when it binds a library that refers to it, which all but a few do: once such wrappers are
//! there, the name stands for an indirect function. Libraries whose initialization does not call it are noticed then.
#![expect(unsafe_code, reason = "has ld.so call this library")]

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use qmpi_loader::image::listed::{LastLook, Listed};
use qmpi_loader::image::{Image, early, objects};
use qmpi_loader::log;
use qmpi_loader::process::loader_lock;

use crate::process::opened;
use crate::ring::{is_entry, ring};

/// What `__gmon_start__` stands for.
static GMON_START: AtomicUsize = AtomicUsize::new(0);

/// How many objects had been opened when it was last looked, as a quick answer.
static OPENED: AtomicU64 = AtomicU64::new(0);

/// The objects that have been looked at.
static LOOKED_AT: LastLook = LastLook::never();

/// From now on, objects are to be dealt with before their constructors run. `images` are those of the process.
pub(crate) fn watch(images: &[Image]) {
    ring().watches_constructors.store(true, Ordering::Release);
    let Some(entry) = images.iter().find(|image| is_entry(image)) else { return };
    LOOKED_AT.set(Listed::now());
    loader_lock::with(|_| {
        // SAFETY: other threads wait for `ld.so`'s lock.
        match unsafe { early::ask_for_gmon_start(entry, being_bound) } {
            Some(address) => GMON_START.store(address, Ordering::Release),
            None => log::debug(|| "constructors of libraries with a DT_INIT of their own are not noticed".into()),
        }
    });
}

/// `ld.so` binds an object that it has opened, and holds its lock.
extern "C" fn being_bound() -> usize {
    let opened = objects::find(|info| Some(info.dlpi_adds)).unwrap_or(0);
    if OPENED.swap(opened, Ordering::Relaxed) != opened {
        let (before, now) = LOOKED_AT.again();
        // What other namespaces have opened counts as well, so not all of these are new. One that was closed and opened again at its place is
        // passed over.
        let is_known = |image: &&Image| before.images().iter().any(|known| known.is_same(image));
        for image in now.new_images().iter().filter(|image| !is_known(image)) {
            // SAFETY: this is the first of the objects that refer to it and come with the new ones.
            unsafe { early::call_before_constructors(image, || opened::objects_opened()) };
        }
    }
    GMON_START.load(Ordering::Acquire)
}
