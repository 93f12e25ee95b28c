//! Where the program makes its calls: the addresses that they return to, as lines of its source or as places in its objects.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::crash::symbols::Symbols;
use crate::measured::trace::file::Code;

/// A call in the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The file of the object.
    pub object: Arc<Path>,
    /// The address of the call's last byte, as the file has it.
    pub address: u64,
}

/// `OBJECT+0xADDRESS`, as `addr2line` understands it.
impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.object.file_name().unwrap_or_default();
        write!(f, "{}+{:#x}", name.display(), self.address)
    }
}

/// The objects of a process that have code.
#[derive(Debug)]
pub(super) struct Objects(Vec<(Code, Arc<Path>)>);

impl Objects {
    pub(super) fn new(code: &[Code]) -> Self {
        let mut known: Vec<Arc<Path>> = Vec::new();
        let mut object = |code: &Code| {
            let path = Path::new(&code.path);
            if let Some(same) = known.iter().find(|known| &***known == path) {
                return Arc::clone(same);
            }
            known.push(path.into());
            Arc::from(path)
        };
        Self(code.iter().map(|code| (code.clone(), object(code))).collect())
    }

    /// The call that returns to an address; `None` if no object is known there. What is behind the call may be another line, so its own last
    /// byte is what counts.
    pub(super) fn site(&self, returns_to: u64) -> Option<Site> {
        let address = returns_to.checked_sub(1)?;
        let (code, object) = self.0.iter().find(|(code, _)| (code.start..code.end).contains(&address))?;
        Some(Site { object: Arc::clone(object), address: address.wrapping_sub(code.base) })
    }
}

/// Names of sites, from the debug information of objects; each file is read once.
#[derive(Default)]
pub struct Lines(Symbols);

impl Lines {
    /// `FILE:LINE` where the object's debug information has it, else `OBJECT+0xADDRESS`.
    pub fn name(&mut self, site: &Site) -> String {
        let places = self.0.find(&site.object, site.address);
        places.into_iter().find_map(|place| place.line).unwrap_or_else(|| site.to_string())
    }
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lines")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_objects() {
        let code = |start, end, base, path: &str| Code { start, end, base, path: path.to_owned() };
        let objects = Objects::new(&[
            code(0x40_1000, 0x40_2000, 0, "/home/me/ring"),
            code(0x7f00_1000, 0x7f00_2000, 0x7f00_0000, "/lib/libsolver.so"),
        ]);
        let shown = |address| objects.site(address).map(|site| site.to_string());
        assert_eq!(shown(0x40_11f3).as_deref(), Some("ring+0x4011f2"));
        assert_eq!(shown(0x7f00_1010).as_deref(), Some("libsolver.so+0x100f"));
        assert_eq!(shown(0x40_2000).as_deref(), Some("ring+0x401fff"), "a call that does not return");
        assert_eq!((shown(0x40_1000), shown(0)), (None, None));
        let site = objects.site(0x40_11f3).unwrap();
        assert_eq!(Lines::default().name(&site), "ring+0x4011f2", "there is no such file");
    }
}
