//! What is mapped in a process.

use std::io;

/// A line of `/proc/PID/maps`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// The first address.
    pub start: u64,
    /// The one behind it.
    pub end: u64,
    /// Can code there be executed?
    pub is_code: bool,
    /// Can it be read?
    pub is_readable: bool,
    /// Where in the file it begins.
    pub offset: u64,
    /// The file, or a name in brackets; empty where there is none.
    pub path: String,
}

impl Mapping {
    /// Reads a line (proc(5)).
    pub fn parse(line: &str) -> Option<Mapping> {
        let mut fields = line.splitn(6, ' ');
        let (start, end) = fields.next()?.split_once('-')?;
        let rights = fields.next()?;
        let offset = fields.next()?;
        let path = fields.nth(2).unwrap_or_default().trim_start();
        let number = |text| u64::from_str_radix(text, 16).ok();
        Some(Mapping {
            start: number(start)?,
            end: number(end)?,
            is_code: rights.contains('x'),
            is_readable: rights.starts_with('r'),
            offset: number(offset)?,
            path: path.to_owned(),
        })
    }
}

/// The files that are mapped in a process, in the order of addresses.
///
/// # Errors
/// Of `/proc/PID/maps`.
pub fn of_files(pid: u32) -> io::Result<Vec<Mapping>> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/maps"))?;
    Ok(text.lines().filter_map(of_file).collect())
}

fn of_file(line: &str) -> Option<Mapping> {
    Mapping::parse(line).filter(|mapping| mapping.path.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_maps() {
        let line = "7f00-7f10 r-xp 00001000 08:01 42                         /a dir/libx.so (deleted)";
        let mapping = Mapping::parse(line).unwrap();
        assert_eq!((mapping.start, mapping.end, mapping.offset), (0x7f00, 0x7f10, 0x1000));
        assert!(mapping.is_code && mapping.is_readable);
        assert_eq!(mapping.path, "/a dir/libx.so (deleted)");
        let line = "7ffc-7ffd ---p 00000000 00:00 0 ";
        let mapping = Mapping::parse(line).unwrap();
        assert!(!mapping.is_code && !mapping.is_readable && mapping.path.is_empty());
        assert_eq!(Mapping::parse("no mapping"), None);
    }

    #[test]
    fn mappings_of_files() {
        let line = "7f5e1c000000-7f5e1c021000 r--p 00002000 08:01 123                        /usr/lib/a b.so";
        let mapping = of_file(line).unwrap();
        assert_eq!((mapping.start, mapping.end, mapping.offset), (0x7f5e_1c00_0000, 0x7f5e_1c02_1000, 0x2000));
        assert_eq!(mapping.path, "/usr/lib/a b.so");
        assert_eq!(of_file("7ffc0-7ffc1 rw-p 00000000 00:00 0                          [stack]"), None);
        assert_eq!(of_file("7ffc0-7ffc1 rw-p 00000000 00:00 0 "), None);
    }
}
