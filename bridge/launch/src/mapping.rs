//! What is mapped in a process.

use std::io;

/// A line of `/proc/PID/maps` (proc(5)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// The first address.
    pub start: u64,
    /// The one behind it.
    pub end: u64,
    /// The file.
    pub path: String,
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
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    // Others have a name in brackets, or none.
    let path = fields.nth(4)?.trim_start().to_owned();
    let number = |text| u64::from_str_radix(text, 16).ok();
    path.starts_with('/').then_some(Mapping { start: number(start)?, end: number(end)?, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_of_files() {
        let line = "7f5e1c000000-7f5e1c021000 r--p 00002000 08:01 123                        /usr/lib/a b.so";
        let mapping = of_file(line).unwrap();
        assert_eq!((mapping.start, mapping.end), (0x7f5e_1c00_0000, 0x7f5e_1c02_1000));
        assert_eq!(mapping.path, "/usr/lib/a b.so");
        assert_eq!(of_file("7ffc0-7ffc1 rw-p 00000000 00:00 0                          [stack]"), None);
        assert_eq!(of_file("7ffc0-7ffc1 rw-p 00000000 00:00 0 "), None);
        assert_eq!(of_file("no mapping"), None);
    }
}
