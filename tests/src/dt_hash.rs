//! Copies of shared libraries whose table of symbols is a DT_HASH one only, as linkers wrote before DT_GNU_HASH, and as
//! `--hash-style=sysv` still writes.
//!
//! The new table takes the place of the old one:
//!
//! | | before | after |
//! |---|---|---|
//! | dynamic section | DT_GNU_HASH → address | DT_HASH → address |
//! | there | header, Bloom filter, buckets, hash values of defined symbols | nbucket, nchain, buckets, chains of all symbols |
//! | section header | SHT_GNU_HASH | SHT_HASH |
//!
//! (gABI 4.1, chapter 5, "Hash Table".) With fewer buckets it always fits where a Bloom filter was.

use std::path::Path;

const SHT_HASH: u32 = 5;
const SHT_DYNAMIC: u32 = 6;
const SHT_DYNSYM: u32 = 11;
const SHT_GNU_HASH: u32 = 0x6fff_fff6;
const DT_HASH: u64 = 4;
const DT_GNU_HASH: u64 = 0x6fff_fef5;
/// Sizes of `Elf64_Shdr`, `Elf64_Sym` and `Elf64_Dyn`.
const SECTION: usize = 64;
const SYMBOL: usize = 24;
const DYNAMIC: usize = 16;

/// A file of class ELFCLASS64, little endian.
struct File(Vec<u8>);

/// What is needed of a section header.
struct Section {
    header: usize,
    kind: u32,
    offset: usize,
    size: usize,
    link: usize,
}

impl File {
    fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        self.0[at..at + N].try_into().expect("N bytes")
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes(at))
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes(at))
    }

    fn word(&self, at: usize) -> usize {
        usize::try_from(self.u64(at)).expect("an offset in the file")
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn section(&self, index: usize) -> Section {
        let header = self.word(40) + index * SECTION;
        Section {
            header,
            kind: self.u32(header + 4),
            offset: self.word(header + 24),
            size: self.word(header + 32),
            link: self.u32(header + 40) as usize,
        }
    }

    fn section_of_kind(&self, kind: u32) -> Section {
        let count = usize::from(u16::from_le_bytes(self.bytes(60)));
        (0..count).map(|index| self.section(index)).find(|section| section.kind == kind).expect("the section")
    }

    fn name(&self, strings: &Section, symbol: usize) -> &[u8] {
        let start = strings.offset + self.u32(symbol) as usize;
        self.0[start..].split(|byte| *byte == 0).next().unwrap_or_default()
    }
}

/// The hash function of DT_HASH.
fn hash(name: &[u8]) -> u32 {
    name.iter().fold(0u32, |hash, byte| {
        let hash = (hash << 4).wrapping_add(u32::from(*byte));
        let high = hash & 0xf000_0000;
        (hash ^ (high >> 24)) & !high
    })
}

/// Writes a copy of the library `from` that has DT_HASH instead of DT_GNU_HASH.
///
/// # Panics
/// When the files cannot be read and written, and when `from` is not a shared library for x86-64 with a DT_GNU_HASH only.
pub fn rewrite(from: &Path, to: &Path) {
    let mut file = File(std::fs::read(from).unwrap_or_else(|error| panic!("{}: {error}", from.display())));
    let table = file.section_of_kind(SHT_GNU_HASH);
    let symbols = file.section_of_kind(SHT_DYNSYM);
    let strings = file.section(symbols.link);
    let count = symbols.size / SYMBOL;
    let buckets = (table.size / 4).checked_sub(2 + count).filter(|buckets| *buckets > 0).expect("room for buckets");

    let mut words = vec![0u32; 2 + buckets + count];
    words[0] = u32::try_from(buckets).expect("a small table");
    words[1] = u32::try_from(count).expect("a small table");
    for index in (1..count).rev() {
        let bucket = 2 + hash(file.name(&strings, symbols.offset + index * SYMBOL)) as usize % buckets;
        words[2 + buckets + index] = words[bucket];
        words[bucket] = u32::try_from(index).expect("a small table");
    }
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    file.put(table.offset, &bytes);
    file.put(table.header + 4, &SHT_HASH.to_le_bytes());

    let dynamic = file.section_of_kind(SHT_DYNAMIC);
    let entries = (dynamic.offset..dynamic.offset + dynamic.size).step_by(DYNAMIC);
    let tags: Vec<(usize, u64)> = entries.map(|entry| (entry, file.u64(entry))).collect();
    assert!(tags.iter().all(|(_, tag)| *tag != DT_HASH), "{}: has DT_HASH", from.display());
    let (entry, _) = tags.iter().find(|(_, tag)| *tag == DT_GNU_HASH).expect("DT_GNU_HASH");
    file.put(*entry, &DT_HASH.to_le_bytes());
    std::fs::write(to, &file.0).unwrap_or_else(|error| panic!("{}: {error}", to.display()));
}
