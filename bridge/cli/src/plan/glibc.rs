//! Which glibc this process runs on, which is the one that MPI processes on this machine will have.

use std::path::PathBuf;

/// A release of glibc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GlibcVersion(pub u32, pub u32);

/// Absolute symbols are taken as they are since this one (bug 19818); the providers consist of them.
pub(crate) const OLDEST: GlibcVersion = GlibcVersion(2, 28);

impl std::fmt::Display for GlibcVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// The version, read from the C library that this process has mapped. `None` without /proc or with another C library.
#[must_use]
pub(crate) fn version() -> Option<GlibcVersion> {
    banner_version(&std::fs::read(library()?).ok()?)
}

fn library() -> Option<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let paths = maps.lines().filter_map(|line| line.find('/').map(|start| PathBuf::from(&line[start..])));
    // `libc.so.6`, and `libc-2.31.so` before 2.33, when the SONAME was a link.
    paths.into_iter().find(|path| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name == "libc.so.6" || (name.starts_with("libc-2.") && name.ends_with(".so"))
    })
}

/// From the text that running libc.so.6 prints (csu/version.c): `GNU C Library (...) stable release version 2.36.`
fn banner_version(contents: &[u8]) -> Option<GlibcVersion> {
    const MARK: &[u8] = b" release version ";
    let start = contents.windows(MARK.len()).position(|window| window == MARK)? + MARK.len();
    let text: String =
        contents[start..].iter().take(16).map(|&b| char::from(b)).take_while(|c| !c.is_whitespace()).collect();
    let mut numbers = text.split('.').map_while(|part| part.parse().ok());
    Some(GlibcVersion(numbers.next()?, numbers.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn banners() {
        let banner = b"\0GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36.\nCopyright";
        assert_eq!(banner_version(banner), Some(GlibcVersion(2, 36)));
        assert_eq!(banner_version(b" release version 2.42.9000, by"), Some(GlibcVersion(2, 42)));
        assert_eq!(banner_version(b"musl libc"), None);
        assert!(GlibcVersion(2, 9) < OLDEST && OLDEST < GlibcVersion(2, 31));
    }

    #[test]
    fn here() {
        assert!(version().is_none_or(|version| version >= GlibcVersion(2, 17)));
    }
}
