//! Shared objects that no linker writes: tables as a test wants them.
//!
//! ```text
//! 0       ELF header, PT_LOAD of the whole file, PT_DYNAMIC
//! 0x1000  each table, from a multiple of 16 on
//!         dynamic section
//! ```

use goblin::elf::dynamic::*;

/// What the file is made of.
#[derive(Default)]
pub(crate) struct Crafted {
    pub(crate) strings: Vec<u8>,
    /// Offset of each name; all are undefined functions.
    pub(crate) symbols: Vec<u32>,
    /// Tables whose address the dynamic section has under this tag.
    pub(crate) tables: Vec<(u64, Vec<u8>)>,
    /// Further entries of the dynamic section.
    pub(crate) entries: Vec<(u64, u64)>,
}

/// Words of four bytes.
pub(crate) fn words(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

impl Crafted {
    pub(crate) fn new(strings: impl Into<Vec<u8>>) -> Crafted {
        Crafted { strings: strings.into(), ..Crafted::default() }
    }

    pub(crate) fn file(self) -> Vec<u8> {
        const START: usize = 0x1000;
        let mut symbols = vec![0; 24];
        for name in &self.symbols {
            symbols.extend(name.to_le_bytes());
            symbols.extend([0x12, 0, 0, 0]); // STB_GLOBAL, STT_FUNC, SHN_UNDEF
            symbols.extend([0; 16]);
        }
        let count = 1 + self.symbols.len() as u32;
        let hash = words([1, count, 0].into_iter().chain((0..count).map(|_| 0)));
        let mut entries = vec![(DT_STRSZ, self.strings.len() as u64)];
        let mut file = vec![0; START];
        let tables = [(DT_SYMTAB, symbols), (DT_HASH, hash), (DT_STRTAB, self.strings)];
        for (tag, table) in tables.into_iter().chain(self.tables) {
            file.resize(file.len().next_multiple_of(16), 0);
            entries.push((tag, file.len() as u64));
            file.extend(table);
        }
        file.resize(file.len().next_multiple_of(16), 0);
        let section = file.len() as u64;
        for (tag, value) in entries.into_iter().chain(self.entries).chain([(DT_NULL, 0)]) {
            file.extend(tag.to_le_bytes());
            file.extend(value.to_le_bytes());
        }
        let size = file.len() as u64;
        let mut head = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        head.extend([3, 0]); // ET_DYN
        head.extend(qmpi_elf::machine::HOST.to_le_bytes());
        head.extend(1_u32.to_le_bytes());
        for word in [0_u64, 64, 0] {
            head.extend(word.to_le_bytes());
        }
        head.extend([0, 0, 0, 0, 64, 0, 56, 0, 2, 0, 64, 0, 0, 0, 0, 0]);
        for (kind, from) in [(1_u32, 0), (2, section)] {
            head.extend(kind.to_le_bytes());
            head.extend(6_u32.to_le_bytes());
            for word in [from, from, from, size - from, size - from, 0x1000] {
                head.extend(word.to_le_bytes());
            }
        }
        file[..head.len()].copy_from_slice(&head);
        file
    }
}
