//! The dynamic string table, in which names of symbols, versions and libraries are found by their offset.

use std::ffi::CStr;
use std::ops::Range;

/// The table, checked to be UTF-8 once so that names are free afterwards.
#[derive(Debug, Default)]
pub(crate) struct StringTable(String);

impl StringTable {
    /// Bytes that are not UTF-8 become `?`, so that offsets stay what they are; no name that
    /// matters here has any.
    pub(crate) fn new(mut bytes: Vec<u8>) -> StringTable {
        loop {
            match String::from_utf8(bytes) {
                Ok(text) => return StringTable(text),
                Err(error) => {
                    bytes = error.into_bytes();
                    if !bytes.is_ascii() {
                        bytes.iter_mut().filter(|byte| !byte.is_ascii()).for_each(|byte| *byte = b'?');
                    }
                }
            }
        }
    }

    /// The NUL-terminated string at an offset; `None` if it starts or ends outside.
    pub(crate) fn get(&self, offset: u32) -> Option<&str> {
        self.range(offset).map(|range| self.slice(range))
    }

    /// Where that string is, without the NUL.
    pub(crate) fn range(&self, offset: u32) -> Option<Range<usize>> {
        let from = offset as usize;
        let length = CStr::from_bytes_until_nul(self.0.as_bytes().get(from..)?).ok()?.count_bytes();
        // An offset into the middle of a character is no name.
        self.0.is_char_boundary(from).then(|| from..from + length)
    }

    /// Whether the string at an offset starts like this; costs nothing, unlike [`Self::get`].
    pub(crate) fn starts_with(&self, offset: u32, start: &[u8]) -> bool {
        self.0.as_bytes().get(offset as usize..).is_some_and(|bytes| bytes.starts_with(start))
    }

    /// The text of a range that [`Self::range`] has given.
    pub(crate) fn slice(&self, range: Range<usize>) -> &str {
        self.0.get(range).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_end_inside_or_are_none() {
        let table = StringTable::new(b"\0abc\0d\xffe\0open".to_vec());
        assert_eq!(table.get(0), Some(""));
        assert_eq!(table.get(2), Some("bc"));
        assert_eq!(table.get(5), Some("d?e"));
        assert_eq!(table.get(9), None);
        assert_eq!(table.get(u32::MAX), None);
    }
}
