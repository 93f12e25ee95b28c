//! glibc's own `dlsym`, which the overrides use as well.

pub use qmpi_overrides::glibc::{dlsym as real, global, set_dlsym as set};
