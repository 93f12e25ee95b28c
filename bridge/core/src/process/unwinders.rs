//! Libraries of the base namespace that list objects, and unwinders, see those of tools.
//!
//! An unwinder that walks from a tool's frame into the program's, or back, asks `dl_iterate_phdr` which object an address belongs to
//! (libgcc_s before glibc 2.35, libunwind), and what it is called (libbacktrace in libgfortran). glibc's answers for the base
//! namespace alone; under `LD_PRELOAD` the tool is in it. So the references of these libraries are bound to a function that lists
//! the objects of all namespaces.
//!
//! Libraries that rewrite the objects which they are shown (UCX) keep glibc's: that must not happen to a tool in a namespace, whose
//! calls have a next function that such a library does not know. They refer to `mprotect`, without which the GOT of an object with RELRO
//! cannot be written.

use qmpi_dynamic::LinkerLock;
use qmpi_loader::dl_iterate_phdr_of_base;
use qmpi_loader::image::Image;
use qmpi_loader::image::rebind::{self, Which};
use qmpi_system::log;

use crate::ring::is_entry;

/// Binds those among `images`. Before a tool is loaded, whose constructors may throw.
pub(crate) fn bind<'a>(lock: &LinkerLock, images: impl IntoIterator<Item = &'a Image>) {
    let address = dl_iterate_phdr_of_base();
    for image in images {
        // This library and libqmpi.so mean the base namespace.
        if is_entry(image) || image.contains(address) || !lists_tools(image) {
            continue;
        }
        let count = rebind::rebind(lock, image, Which::All, |reference| {
            (reference.name == c"dl_iterate_phdr").then_some(address)
        });
        log::debug(|| format!("{}: {count} references list all namespaces", image.path().display()));
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
