//! The parts of an ELF file that have a structure, and where their entries and fields are.

use goblin::elf::Elf;
use goblin::elf::section_header::{
    SHF_ALLOC, SHF_EXECINSTR, SHT_DYNAMIC, SHT_DYNSYM, SHT_FINI_ARRAY, SHT_GNU_HASH, SHT_GNU_VERDEF, SHT_GNU_VERNEED,
    SHT_GNU_VERSYM, SHT_HASH, SHT_INIT_ARRAY, SHT_NOBITS, SHT_NOTE, SHT_RELA,
};

const SHT_RELR: u32 = 19;

/// A part of a file: entries that follow each other, each of fields of these sizes.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) name: &'static str,
    pub(super) start: usize,
    pub(super) len: usize,
    pub(super) fields: &'static [usize],
}

/// One field of one entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    pub(super) at: usize,
    pub(super) size: usize,
}

/// `Elf64_Ehdr`, `Elf64_Phdr`, `Elf64_Shdr`, `Elf64_Dyn`, `Elf64_Sym`, `Elf64_Rela` with `r_info` in two, `Elf64_Verneed` and
/// `Elf64_Vernaux`, `Elf64_Verdef` (System V gABI, chapters 4 and 5; LSB, "Symbol Versioning").
const HEADER: &[usize] = &[1, 1, 1, 1, 1, 1, 1, 1, 1, 7, 2, 2, 4, 8, 8, 8, 4, 2, 2, 2, 2, 2, 2];
const SEGMENT: &[usize] = &[4, 4, 8, 8, 8, 8, 8, 8];
const SECTION: &[usize] = &[4, 4, 8, 8, 8, 8, 4, 4, 8, 8];
const DYNAMIC: &[usize] = &[8, 8];
const SYMBOL: &[usize] = &[4, 1, 1, 2, 8, 8];
const RELOCATION: &[usize] = &[8, 4, 4, 8];
const NEED: &[usize] = &[2, 2, 4, 4, 4];
const DEFINITION: &[usize] = &[2, 2, 2, 2, 4, 4, 4];

impl Part {
    /// The parts of a sound file.
    ///
    /// # Panics
    /// When it is none.
    pub(super) fn all(bytes: &[u8]) -> Vec<Part> {
        let elf = Elf::parse(bytes).expect("an ELF file");
        let part = |name, start: u64, len: u64, fields| Part { name, start: start as usize, len: len as usize, fields };
        let header = &elf.header;
        let mut parts = vec![
            part("ELF header", 0, 64, HEADER),
            part("program headers", header.e_phoff, u64::from(header.e_phnum) * 56, SEGMENT),
            part("section headers", header.e_shoff, u64::from(header.e_shnum) * 64, SECTION),
        ];
        for section in &elf.section_headers {
            let (name, fields): (_, &[usize]) = match section.sh_type {
                SHT_DYNAMIC => ("dynamic section", DYNAMIC),
                SHT_DYNSYM => ("symbols", SYMBOL),
                SHT_GNU_HASH => ("DT_GNU_HASH", &[4]),
                SHT_HASH => ("DT_HASH", &[4]),
                SHT_GNU_VERSYM => ("DT_VERSYM", &[2]),
                SHT_GNU_VERDEF => ("DT_VERDEF", DEFINITION),
                SHT_GNU_VERNEED => ("DT_VERNEED", NEED),
                SHT_RELA => ("relocations", RELOCATION),
                SHT_RELR => ("DT_RELR", &[8]),
                SHT_INIT_ARRAY => ("DT_INIT_ARRAY", &[8]),
                SHT_FINI_ARRAY => ("DT_FINI_ARRAY", &[8]),
                SHT_NOTE => ("notes", &[4]),
                _ if elf.shdr_strtab.get_at(section.sh_name) == Some(".dynstr") => ("strings", &[1]),
                _ => continue,
            };
            parts.push(part(name, section.sh_offset, section.sh_size, fields));
        }
        // Not the code: what other instructions do is no matter of the file's structure.
        let is_contents = |flags: u64| flags & u64::from(SHF_ALLOC | SHF_EXECINSTR) == u64::from(SHF_ALLOC);
        let sections = elf.section_headers.iter();
        let contents = sections.filter(|section| is_contents(section.sh_flags) && section.sh_type != SHT_NOBITS);
        let mut contents: Vec<Part> =
            contents.map(|section| part("contents", section.sh_offset, section.sh_size, &[1])).collect();
        // Those that follow each other are one part, so that this kind of part is not more frequent than others.
        contents.dedup_by(|next, last| {
            let joins = last.start + last.len <= next.start && next.start <= last.start + last.len + 64;
            if joins {
                last.len = next.start + next.len - last.start;
            }
            joins
        });
        parts.extend(contents);
        parts.retain(|part| part.entries() > 0 && part.start + part.len <= bytes.len());
        parts
    }

    /// The length of one entry.
    pub(super) fn entry(&self) -> usize {
        self.fields.iter().sum()
    }

    /// How many entries there are.
    pub(super) fn entries(&self) -> usize {
        self.len / self.entry()
    }

    /// A field of an entry by its number.
    pub(super) fn field(&self, entry: usize, number: usize) -> Field {
        let before: usize = self.fields[..number].iter().sum();
        Field { at: self.start + entry * self.entry() + before, size: self.fields[number] }
    }
}
