//! Tools with variables of their own have an `environ` of their own, which follows what the process's objects change: their references
//! to `setenv` and the like are bound to functions that change the environment and then these arrays.
//!
//! Only where a layer has such variables.

use qmpi_dynamic::LinkerLock;
use qmpi_loader::image::Image;
use qmpi_loader::image::rebind::{self, Which};
use qmpi_loader::{changes_of_environment, expect_view};
use qmpi_plan::Layer;
use qmpi_system::log;

use crate::ring::is_entry;

/// Binds those of `images`, all objects of the process, before layers are loaded of which one has variables of its own.
pub(crate) fn expect(lock: &LinkerLock, layers: &[Layer], images: &[Image]) {
    if layers.iter().any(|layer| !layer.env.is_empty()) {
        expect_view();
        bind(lock, images);
    }
}

/// Binds those among `images`.
pub(crate) fn bind<'a>(lock: &LinkerLock, images: impl IntoIterator<Item = &'a Image>) {
    let Some(functions) = changes_of_environment() else { return };
    for image in images {
        // The C library's own file, and this library, mean the C library's functions.
        let defines = || functions.iter().any(|(name, address)| image.find(name).is_some() || image.contains(*address));
        if is_entry(image) || defines() {
            continue;
        }
        let count = rebind::rebind(lock, image, Which::All, |reference| {
            functions.iter().find(|(known, _)| *known == reference.name).map(|(_, address)| *address)
        });
        if count > 0 {
            log::debug(|| format!("{}: {count} references change the environment", image.path().display()));
        }
    }
}
