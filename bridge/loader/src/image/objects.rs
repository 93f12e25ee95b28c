//! The objects of the base namespace, as `ld.so` lists them.

use libc::dl_phdr_info;

/// Shows `look` one object after the other, the executable first, until it answers.
///
/// `ld.so` holds a lock meanwhile: see [`qmpi_dynamic::objects`] for what `look` may do.
pub fn find<T>(mut look: impl FnMut(&dl_phdr_info) -> Option<T>) -> Option<T> {
    qmpi_dynamic::objects::find(|info| look(info.raw()))
}
