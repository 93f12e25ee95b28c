//! The code of a file, and the words through which it calls, read where something wants to know where a function leads.
//!
//! For the desk: nothing of it is read when a tool is loaded.

use std::collections::HashMap;

use goblin::elf::dynamic::{DT_FINI, DT_FINI_ARRAY, DT_FINI_ARRAYSZ, DT_INIT, DT_INIT_ARRAY, DT_INIT_ARRAYSZ};
use goblin::elf::program_header::{PF_X, PT_LOAD};
use qmpi_dynamic::relocation::{Kind, Relocation};
use qmpi_dynamic::{Bytes, Table, entries};

use crate::arch::{self, Flow, Register};
use crate::error::Error;
use crate::file::ElfFile;
use crate::file::image::Image;
use crate::file::tables::dynamic_section;

/// What a word holds when the file is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word<'a> {
    /// The address of what has this name.
    Name(&'a str),
    /// An address of the file itself.
    Address(u64),
}

/// The code of one file.
pub(crate) struct Code<'a> {
    image: Image,
    words: HashMap<u64, Word<'a>>,
    /// Pages that were read.
    pages: HashMap<u64, Vec<u8>>,
    /// Where exported functions begin: code before one does not run on into it.
    starts: HashMap<u64, &'a str>,
    at_start: Vec<u64>,
    at_end: Vec<u64>,
}

const PAGE: u64 = 0x1000;
const WORD: u64 = 8;

impl<'a> Code<'a> {
    /// That of `file`.
    ///
    /// # Errors
    /// If it cannot be read any more, or its tables lie outside of it.
    pub(crate) fn of(file: &'a ElfFile) -> Result<Code<'a>, Error> {
        let image = Image::open(file.path(), Some(file.machine()))?;
        let relative = image.machine.relocations().relative;
        let mut words = HashMap::new();
        for table in [Table::Relocations, Table::PltRelocations] {
            let Some(extent) = file.symbols.tables.dynamic.extent(table) else { continue };
            let bytes = image.read_at_address(table.name(), extent.address, extent.size.unwrap_or(0))?;
            for relocation in Relocation::all_of(Bytes::from(&bytes[..]), image.machine) {
                let word = match relocation.kind {
                    Kind::Other(number) if number == relative => Some(Word::Address(relocation.addend.cast_unsigned())),
                    Kind::Other(_) => None,
                    _ => file.symbols.symbol(relocation.symbol).map(|symbol| Word::Name(symbol.name)),
                };
                words.extend(word.map(|word| (relocation.offset, word)));
            }
        }
        let starts = file.plain_exports().map(|symbol| (symbol.value, symbol.name)).collect();
        let mut code = Code { image, words, pages: HashMap::new(), starts, at_start: Vec::new(), at_end: Vec::new() };
        let section = dynamic_section(&code.image)?;
        let value =
            |tag: u64| entries(Bytes::from(&section[..])).find(|(known, _)| *known == tag).map(|(_, value)| value);
        let functions = |code: &mut Code<'a>, function: u64, array: u64, size: u64| {
            let of_array = value(array).zip(value(size)).into_iter().flat_map(|(start, size)| {
                // A file may claim any size.
                (0..(size / WORD).min(1024)).map(move |index| start.wrapping_add(index * WORD))
            });
            let of_array: Vec<u64> = of_array.filter_map(|place| code.address_in(place)).collect();
            value(function).into_iter().chain(of_array).collect::<Vec<u64>>()
        };
        code.at_start = functions(&mut code, DT_INIT, DT_INIT_ARRAY, DT_INIT_ARRAYSZ);
        code.at_end = functions(&mut code, DT_FINI, DT_FINI_ARRAY, DT_FINI_ARRAYSZ);
        Ok(code)
    }

    /// What runs when it is loaded: DT_INIT, DT_INIT_ARRAY.
    pub(crate) fn at_start(&self) -> &[u64] {
        &self.at_start
    }

    /// What runs at the end: DT_FINI, DT_FINI_ARRAY.
    pub(crate) fn at_end(&self) -> &[u64] {
        &self.at_end
    }

    /// What the word at this address holds, if that is known before the file is loaded.
    pub(crate) fn word(&self, place: u64) -> Option<Word<'a>> {
        self.words.get(&place).copied()
    }

    /// Does a function that others see begin here?
    pub(crate) fn is_start(&self, address: u64) -> bool {
        self.starts.contains_key(&address)
    }

    /// The instruction at an address: its length, and where it leads. `None` where there is no code.
    pub(crate) fn step(&mut self, address: u64) -> Option<(u64, Flow)> {
        let mut bytes = [0; arch::LONGEST];
        let mut count = 0;
        while count < bytes.len() {
            let at = address.checked_add(count as u64)?;
            let Some(page) = self.page(at - at % PAGE) else { break };
            let rest = page.get((at % PAGE) as usize..).filter(|rest| !rest.is_empty());
            let Some(rest) = rest else { break };
            let taken = rest.len().min(bytes.len() - count);
            bytes[count..count + taken].copy_from_slice(&rest[..taken]);
            count += taken;
        }
        arch::step(self.image.machine, &bytes[..count], address)
    }

    /// The name that a call of this address arrives at with the caller's first argument: of an entry of the PLT, which is a jump through
    /// a word; and of a function that does no more than go on to one, as `atexit` does, which each library has for itself.
    pub(crate) fn name_of_entry(&mut self, address: u64) -> Option<&'a str> {
        const LONGEST_WAY: usize = 10;
        let mut at = address;
        for _ in 0..LONGEST_WAY {
            match self.step(at)? {
                (_, Flow::JumpThrough(word)) => {
                    return match self.word(word)? {
                        Word::Name(name) => Some(name),
                        Word::Address(_) => None,
                    };
                }
                (_, Flow::Jump(target)) => at = target,
                (length, Flow::On | Flow::Set(Register::Result, _)) => at = at.checked_add(length)?,
                _ => return None,
            }
        }
        None
    }

    fn page(&mut self, start: u64) -> Option<&[u8]> {
        if !self.pages.contains_key(&start) {
            let bytes = self.read_page(start).unwrap_or_default();
            self.pages.insert(start, bytes);
        }
        self.pages.get(&start).map(Vec::as_slice)
    }

    fn read_page(&self, start: u64) -> Option<Vec<u8>> {
        let is_code = |address: u64| {
            self.image.segments.iter().any(|segment| {
                segment.p_type == PT_LOAD
                    && segment.p_flags & PF_X != 0
                    && address
                        .checked_sub(segment.p_vaddr - segment.p_vaddr % PAGE)
                        .is_some_and(|into| into < segment.p_memsz)
            })
        };
        if !is_code(start) {
            return None;
        }
        let (_, left) = self.image.locate("code", start).ok()?;
        self.image.read_at_address("code", start, left.min(PAGE)).ok()
    }

    /// The address that a word of an array of functions holds: as its relocation says, or as it is in the file (DT_RELR).
    fn address_in(&mut self, place: u64) -> Option<u64> {
        match self.word(place) {
            Some(Word::Address(address)) => Some(address),
            Some(Word::Name(_)) => None,
            None => {
                let bytes = self.image.read_at_address("array of functions", place, WORD).ok()?;
                let address = u64::from_le_bytes(bytes.try_into().ok()?);
                (address != 0 && address != u64::MAX).then_some(address)
            }
        }
    }
}
