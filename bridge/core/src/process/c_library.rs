//! References of the process's objects to functions of the C library, which are bound to functions that know of tools in namespaces. Objects
//! that are opened later are treated as those that are there at start-up.
//!
//! | function | of which objects | because |
//! |---|---|---|
//! | `dl_iterate_phdr` | unwinders, and libraries that list objects | it has to list the objects of all namespaces |
//! | `setenv` and the like | all, where a layer has variables of its own | such a tool has an `environ` of its own, which follows changes |
//! | `dlopen` | all, but those that are there by the MPI library, once there is a tool in a namespace | what is opened may be that tool, or refer to what it opens (`qmpi_loader::stand_ins`) |
//!
//! An unwinder that walks from a tool's frame into the program's, or back, asks `dl_iterate_phdr` which object an address belongs to
//! (libgcc_s before glibc 2.35, libunwind), and what it is called (libbacktrace in libgfortran). glibc's answers for the base
//! namespace alone; under `LD_PRELOAD` the tool is in it. Libraries that rewrite the objects which they are shown (UCX) keep glibc's: that must
//! not happen to a tool in a namespace, whose calls have a next function that such a library does not know. They refer to `mprotect`,
//! without which the GOT of an object with RELRO cannot be written.
//!
//! References to `dlopen` that a layer's wrapper of it has, or a definition of the program's own, stay: the wrapper goes on by way of the loader.

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};

use qmpi_dynamic::LinkerLock;
use qmpi_loader::image::Image;
use qmpi_loader::image::rebind::{self, Reference};
use qmpi_loader::process::dlsym;
use qmpi_loader::{Process, changes_of_environment, dl_iterate_phdr_of_base, expect_view, stand_ins};
use qmpi_plan::Layer;

use crate::process::rebound;
use crate::ring::is_entry;

/// Whether calls of `dlopen` pass by the loader.
static HAS_STAND_INS: AtomicBool = AtomicBool::new(false);

/// Binds references to `dl_iterate_phdr`. Before a tool is loaded, whose constructors may throw.
pub(crate) fn list_all_namespaces<'a>(lock: &LinkerLock, images: impl IntoIterator<Item = &'a Image>) {
    let own = dl_iterate_phdr_of_base();
    // This library and libqmpi.so mean the base namespace.
    for image in images.into_iter().filter(|image| !is_entry(image) && !image.contains(own) && lists_tools(image)) {
        bind(lock, image, "list all namespaces", |name| (name == c"dl_iterate_phdr").then_some(own));
    }
}

/// Does the object refer to `dl_iterate_phdr`, and is it an unwinder, or one that cannot rewrite what it is shown?
fn lists_tools(image: &Image) -> bool {
    image.refers_to(c"dl_iterate_phdr")
        && (!image.refers_to(c"mprotect")
            || image.symbols().any(|symbol| symbol.name.to_bytes().starts_with(b"_Unwind_"))
            // A program with an unwinder of its own (-static-libgcc) has no names for it.
            || std::env::current_exe().is_ok_and(|program| program == image.path()))
}

/// Binds references to what changes the environment, before layers are loaded of which one has variables of its own.
pub(crate) fn expect_environments(lock: &LinkerLock, layers: &[Layer], images: &[Image]) {
    if layers.iter().any(|layer| !layer.settings.env.is_empty()) {
        expect_view();
        follow_environment(lock, images);
    }
}

/// The same for these objects, if a layer has variables of its own.
pub(crate) fn follow_environment(lock: &LinkerLock, images: &[Image]) {
    let Some(functions) = changes_of_environment() else { return };
    // The C library's own file, and this library, mean the C library's functions.
    let defines =
        |image: &Image| functions.iter().any(|(name, address)| image.find(*name).is_some() || image.contains(*address));
    for image in images.iter().filter(|image| !is_entry(image) && !defines(image)) {
        bind(lock, image, "change the environment", |name| {
            functions.iter().find(|(known, _)| *known == name).map(|(_, address)| *address)
        });
    }
}

/// Leads calls of `dlopen` by the loader, if there is a tool in a namespace and they are not led yet.
pub(crate) fn begin_stand_ins(lock: &LinkerLock, process: &Process) {
    if stand_ins::may_be_needed() && !HAS_STAND_INS.swap(true, Ordering::Relaxed) {
        lead_dlopen(lock, process.images().iter().filter(|image| !process.is_shared(image.name())));
    }
}

/// Leads those of objects that were opened since, if others are led.
pub(crate) fn stand_in_for_opened(lock: &LinkerLock, new: &[Image]) {
    if HAS_STAND_INS.load(Ordering::Relaxed) {
        lead_dlopen(lock, new);
    }
}

fn lead_dlopen<'a>(lock: &LinkerLock, images: impl IntoIterator<Item = &'a Image>) {
    let (Some(global), own) = (dlsym::global(c"dlopen"), stand_ins::dlopen_for_program()) else { return };
    for image in images {
        if is_entry(image) || image.contains(own) || !image.refers_to(c"dlopen") {
            continue;
        }
        let is_likely = |start: [u8; 4]| start == *b"dlop";
        let target = |reference: &Reference<'_>, held: &dyn Fn() -> usize| {
            // Bound, or not yet.
            let is_process = || held() == global || reference.is_call && image.contains(held());
            (reference.name == c"dlopen" && is_process()).then_some(own)
        };
        rebound::say(image, rebind::exchange(lock, image, is_likely, target), "to dlopen come by");
    }
}

fn bind(lock: &LinkerLock, image: &Image, what: &str, target: impl Fn(&CStr) -> Option<usize>) {
    rebound::rebind(lock, image, what, |reference| target(reference.name));
}
