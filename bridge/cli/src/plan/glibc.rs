//! Which glibc this process runs on, which is the one that MPI processes on this machine will have.
#![expect(unsafe_code, reason = "a function of the C library")]

use std::ffi::CStr;

/// `(2, 36)`
pub(crate) type GlibcVersion = (u32, u32);

/// Absolute symbols are taken as they are since this one (bug 19818); the providers consist of them.
pub(crate) const OLDEST: GlibcVersion = (2, 28);

pub(crate) fn version() -> Option<GlibcVersion> {
    // SAFETY: gnu_get_libc_version has no conditions (gnu_get_libc_version(3): MT-Safe).
    let text = unsafe { libc::gnu_get_libc_version() };
    // SAFETY: what it returns is a constant of the C library that ends with a zero byte.
    let text = unsafe { CStr::from_ptr(text) };
    of_text(text.to_str().ok()?)
}

/// `2.36`, `2.42.9000`
fn of_text(text: &str) -> Option<GlibcVersion> {
    let mut numbers = text.split('.').map_while(|part| part.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        assert_eq!(of_text("2.36"), Some((2, 36)));
        assert_eq!(of_text("2.42.9000"), Some((2, 42)));
        assert!((2, 9) < OLDEST && OLDEST < (2, 31));
        assert!(version().is_some_and(|version| version >= (2, 17)));
    }
}
