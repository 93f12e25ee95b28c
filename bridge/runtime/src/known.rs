//! Which objects of the process have been seen to; others were opened since.

use std::sync::{Mutex, PoisonError};

use qmpi_loader::image::Image;

static KNOWN: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// These have been.
pub(crate) fn set(images: &[Image]) {
    *KNOWN.lock().unwrap_or_else(PoisonError::into_inner) = images.iter().map(Image::id).collect();
}

/// By [`Image::id`].
pub(crate) fn all() -> Vec<usize> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
