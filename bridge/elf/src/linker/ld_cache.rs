//! `/etc/ld.so.cache`: the libraries that ldconfig has found.
//!
//! Reads the format `glibc-ld.so.cache1.1` (glibc sysdeps/generic/dl-cache.h), alone or behind the
//! older `ld.so-1.7.0` one; anything else is an empty cache, as it is for ld.so.

use std::path::{Path, PathBuf};

use qmpi_dynamic::Bytes;

use crate::machine;

const OLD_MAGIC: &[u8] = b"ld.so-1.7.0\0";
const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
/// Magic (20), nlibs, len_strings: u32; flags u8, padding; extension_offset: u32; unused: u32 × 3. Entries follow.
const HEADER_SIZE: usize = 48;
/// Header and entries of the old format: magic (12 with padding), nlibs: u32; flags, key, value: u32.
const OLD_HEADER_SIZE: usize = 16;
const OLD_ENTRY_SIZE: usize = 12;
/// ld.so would map a cache of any size; real ones have some hundred KB.
const MAX_SIZE: u64 = 64 << 20;

/// The cache, as read.
#[derive(Debug, Default)]
pub struct LdCache {
    /// From the header of the current format on.
    bytes: Vec<u8>,
}

impl LdCache {
    /// Reads a cache file. A missing or damaged one is empty: ld.so goes on with the default
    /// directories then.
    pub fn read(path: &Path) -> LdCache {
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_file() && metadata.len() <= MAX_SIZE => {
                std::fs::read(path).map(LdCache::parse).unwrap_or_default()
            }
            _ => LdCache::default(),
        }
    }

    /// Interprets the contents of a cache file.
    pub fn parse(mut bytes: Vec<u8>) -> LdCache {
        if bytes.starts_with(OLD_MAGIC) {
            // The current format follows, aligned to 8.
            let count = Bytes::from(&bytes[..]).read::<u32>(12).map_or(0, |count| count as usize);
            let start =
                count.saturating_mul(OLD_ENTRY_SIZE).saturating_add(OLD_HEADER_SIZE).checked_next_multiple_of(8);
            bytes.drain(..start.map_or(bytes.len(), |start| start.min(bytes.len())));
        }
        if bytes.starts_with(MAGIC) { LdCache { bytes } } else { LdCache::default() }
    }

    /// The file for a library's name on this machine.
    ///
    /// Variants for newer processors (`glibc-hwcaps`, entries with a hwcap) are passed over: they
    /// have the same interface, and what is loaded in the end is up to ld.so.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        let bytes = Bytes::from(&self.bytes[..]);
        let count = bytes.read::<u32>(MAGIC.len())? as usize;
        // flags: i32; key, value, osversion: u32; hwcap: u64. Key and value are offsets from the header.
        let entries = (0..count).map_while(|index| bytes.skip(HEADER_SIZE).entry::<[u32; 6]>(index));
        let mut found = entries.filter(|[flags, key, _, _, hwcap @ ..]| {
            *flags == machine::CACHE_FLAGS && *hwcap == [0; 2] && bytes.is_string(*key as usize, name.as_bytes())
        });
        found.find_map(|[_, _, value, ..]| Some(PathBuf::from(bytes.string(value as usize)?.to_str().ok()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cache with (flags, hwcap, key, value) entries.
    fn cache(entries: &[(u32, u64, &str, &str)]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend((entries.len() as u32).to_le_bytes());
        bytes.resize(HEADER_SIZE, 0);
        let mut strings = Vec::new();
        let base = HEADER_SIZE + entries.len() * size_of::<[u32; 6]>();
        for (flags, hwcap, key, value) in entries {
            let mut add = |text: &str| {
                let at = (base + strings.len()) as u32;
                strings.extend(text.as_bytes());
                strings.push(0);
                at
            };
            let (key, value) = (add(key), add(value));
            for word in [*flags, key, value, 0] {
                bytes.extend(word.to_le_bytes());
            }
            bytes.extend(hwcap.to_le_bytes());
        }
        bytes.extend(strings);
        bytes
    }

    #[test]
    fn takes_the_entry_of_this_machine_without_hwcap() {
        let good = machine::CACHE_FLAGS;
        let bytes = cache(&[
            (0x0003, 0, "libx.so.1", "/lib32/libx.so.1"),
            (good, 1 << 62, "libx.so.1", "/hwcaps/libx.so.1"),
            (good, 0, "libx.so.1", "/lib/libx.so.1"),
        ]);
        let parsed = LdCache::parse(bytes.clone());
        assert_eq!(parsed.find("libx.so.1"), Some("/lib/libx.so.1".into()));
        assert_eq!(parsed.find("libx.so"), None);

        let mut both = OLD_MAGIC.to_vec();
        both.extend(1_u32.to_le_bytes());
        both.resize(OLD_HEADER_SIZE + OLD_ENTRY_SIZE, 0);
        both.resize(both.len().next_multiple_of(8), 0);
        both.extend(&bytes);
        assert_eq!(LdCache::parse(both).find("libx.so.1"), Some("/lib/libx.so.1".into()));
    }

    #[test]
    fn damaged_caches_find_nothing() {
        let bytes = cache(&[(machine::CACHE_FLAGS, 0, "libx.so.1", "/lib/libx.so.1")]);
        for length in 0..bytes.len() {
            assert_eq!(LdCache::parse(bytes[..length].to_vec()).find("libx.so.1"), None);
        }
        let mut many = bytes.clone();
        many[20..24].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(LdCache::parse(many).find("liby.so"), None);
    }
}
