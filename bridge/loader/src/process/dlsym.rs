//! glibc's own `dlsym` and `dlvsym`, which the overrides use as well.

pub use qmpi_overrides::glibc::{dlsym as real, global, set};
