//! The words of `libqmpi.so`.

use std::sync::OnceLock;

use qmpi_loader::image::Image;
use qmpi_ring::Ring;

static RING: OnceLock<&'static Ring> = OnceLock::new();

/// Sets them; a second time has no effect.
pub(crate) fn set(ring: &'static Ring) {
    RING.get_or_init(|| ring);
}

/// The words.
///
/// # Panics
/// Before [`set`], which comes before everything else.
pub(crate) fn ring() -> &'static Ring {
    RING.get().expect("libqmpi.so opens this library, and says where its words are")
}

/// Is the object `libqmpi.so`?
pub(crate) fn is_entry(image: &Image) -> bool {
    RING.get().is_some_and(|ring| image.contains(ring.address()))
}
