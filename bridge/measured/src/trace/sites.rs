//! Where the program makes its calls: the addresses that they return to, as lines of its source or as places in its objects.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use addr2line::Loader;
use object::Object;

use crate::trace::file::CodeRange;

/// A call in the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) object: Arc<Path>,
    /// The address of the call's last byte, as the file has it.
    pub(crate) address: u64,
}

/// `OBJECT+0xADDRESS`, as `addr2line` understands it.
impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.object.file_name().unwrap_or_default();
        write!(f, "{}+{:#x}", name.display(), self.address)
    }
}

impl CodeRange {
    /// The call that returns to an address, if it is here; none does to 0. What is behind the call may be another line, so its own last byte is
    /// what counts.
    pub(super) fn site(&self, returns_to: u64) -> Option<Site> {
        let address = returns_to.checked_sub(1).filter(|address| (self.start..self.end).contains(address))?;
        Some(Site { object: Arc::clone(&self.path), address: address.wrapping_sub(self.base) })
    }
}

/// Names of sites, from the debug information of objects; each file is read once. Empty: a file has none.
#[derive(Default)]
pub(crate) struct Lines(HashMap<Arc<Path>, Vec<Loader>>);

impl Lines {
    /// `FILE:LINE` where the object's debug information has it, else `OBJECT+0xADDRESS`.
    pub(crate) fn name(&mut self, site: &Site) -> String {
        let loaders = self.0.entry(Arc::clone(&site.object)).or_insert_with(|| loaders(&site.object));
        let line = loaders.iter().find_map(|loader| {
            let location = loader.find_location(site.address).ok()??;
            let file = Path::new(location.file?).file_name()?.to_string_lossy();
            Some(format!("{file}:{}", location.line?))
        });
        line.unwrap_or_else(|| site.to_string())
    }
}

/// The debug information of an object's file, and of the file that a distribution installs for it under its build id.
fn loaders(path: &Path) -> Vec<Loader> {
    let of_distribution = debug_file(path);
    std::iter::once(path).chain(of_distribution.as_deref()).filter_map(|path| Loader::new(path).ok()).collect()
}

/// Where a distribution's package of debug information has that of an object: `/usr/lib/debug/.build-id/ab/cdef.debug`.
fn debug_file(path: &Path) -> Option<PathBuf> {
    let bytes = std::fs::read(path).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    let digits: String = file.build_id().ok()??.iter().map(|byte| format!("{byte:02x}")).collect();
    let (first, rest) = digits.split_at_checked(2)?;
    Some(format!("/usr/lib/debug/.build-id/{first}/{rest}.debug").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_objects() {
        let code = |start, end, base, path: &str| CodeRange { start, end, base, path: Path::new(path).into() };
        let objects = [
            code(0x40_1000, 0x40_2000, 0, "/home/me/ring"),
            code(0x7f00_1000, 0x7f00_2000, 0x7f00_0000, "/lib/libsolver.so"),
        ];
        let site = |address| objects.iter().find_map(|code| code.site(address));
        let shown = |address| site(address).map(|site| site.to_string());
        assert_eq!(shown(0x40_11f3).as_deref(), Some("ring+0x4011f2"));
        assert_eq!(shown(0x7f00_1010).as_deref(), Some("libsolver.so+0x100f"));
        assert_eq!(shown(0x40_2000).as_deref(), Some("ring+0x401fff"), "a call that does not return");
        assert_eq!((shown(0x40_1000), shown(0)), (None, None));
        assert_eq!(Lines::default().name(&site(0x40_11f3).unwrap()), "ring+0x4011f2", "there is no such file");
    }
}
