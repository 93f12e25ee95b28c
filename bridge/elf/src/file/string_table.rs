//! The dynamic string table as text, and how long names may be.

use qmpi_dynamic::Bytes;

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

    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The NUL-terminated string at an offset; `None` if it starts or ends outside, or starts inside of a character.
    pub(crate) fn get(&self, offset: usize) -> Option<&str> {
        let length = Bytes::from(self.bytes()).string(offset)?.to_bytes().len();
        self.0.get(offset..offset + length)
    }

    /// Whether the string at an offset starts like this; costs nothing, unlike [`Self::get`].
    pub(crate) fn starts_with(&self, offset: usize, start: &[u8]) -> bool {
        self.bytes().get(offset..).is_some_and(|bytes| bytes.starts_with(start))
    }

    /// Is any string longer than `limit`? Looks at one byte in `limit`, and at what is before the end of a string.
    pub(crate) fn has_longer_than(&self, limit: usize) -> bool {
        let mut rest = self.bytes();
        while let Some(start) = rest.get(..=limit) {
            match start.iter().rposition(|byte| *byte == 0) {
                Some(end) => rest = &rest[end + 1..],
                None => return true,
            }
        }
        false
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
        assert_eq!(table.get(usize::MAX), None);
        let table = StringTable::new("\0aé\0".into());
        assert_eq!((table.get(2), table.get(3)), (Some("é"), None));
    }

    #[test]
    fn long_strings_are_found_wherever_they_are() {
        for text in ["\0ab\0abcde\0a\0", "\0abcde\0", "abcde\0ab\0", "\0a\0b\0abcde"] {
            let table = StringTable::new(text.into());
            assert!(table.has_longer_than(4) && !table.has_longer_than(5), "{text:?}");
        }
    }
}
