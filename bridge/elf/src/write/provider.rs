//! Synthesis of provider libraries: ELF shared objects that consist of a symbol table and nothing else.
//!
//! A provider is what a private linker namespace gets instead of a real library. Every symbol is `SHN_ABS`, its
//! value an address of this process, and `ld.so` takes it as it stands (glibc ≥ 2.28,
//! `elf/dl-lookup.h:SYMBOL_ADDRESS`). There is no code and no executable segment:
//!
//! ```text
//! offset  segment          contents
//! 0       PT_LOAD  R       ELF header, program headers, .gnu.hash, .dynsym, .dynstr, .gnu.version, .gnu.version_d
//! page    PT_LOAD  RW      .fini_array, .dynamic   (glibc before 2.35 relocates the table in place, so it must be writable)
//!         PT_GNU_STACK RW  (without it ld.so makes the process's stack executable)
//!         PT_TLS       R   where symbols are thread-local variables, else PT_NULL
//! ```
//!
//! Which symbols a provider has is not decided here, but by the loader.

mod copy;

pub use copy::copy;

use std::ops::Range;

use object::elf;
use object::endian::{I64, LittleEndian as LE, U16, U32, U64};
use object::pod::bytes_of;
use thiserror::Error;

use crate::file::name::Name;
use crate::machine::{HOST, LARGEST_PAGE as PAGE};

/// The second hash of a Bloom filter word is taken from the bits above these (as GNU ld does).
const BLOOM_SHIFT: u32 = 26;
/// Hidden versions (`name@version`, not `name@@version`) carry this bit in `.gnu.version`.
const VERSYM_HIDDEN: u16 = elf::VERSYM_HIDDEN;
/// Number of the first version definition of a library's own; 1 is the library itself.
const FIRST_VERSION: u16 = 2;

/// What a symbol names; decides nothing but the type that debuggers and `nm` show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProvidedKind {
    /// A function (`STT_FUNC`). Never an IFUNC: those are resolved before.
    Function,
    /// A variable (`STT_OBJECT`).
    Data,
    /// A thread-local variable (`STT_TLS`), which no address stands for.
    ThreadLocal,
}

/// The version of a provided symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProvidedVersion {
    /// Its place among the versions that the provider defines.
    pub place: u16,
    /// `name@@version`: what a reference without a version gets.
    pub default: bool,
}

/// One symbol of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Provided<'a> {
    /// The symbol's name.
    pub name: Name<'a>,
    /// Its version; `None` satisfies a reference to any version.
    pub version: Option<ProvidedVersion>,
    /// Function or variable.
    pub kind: ProvidedKind,
    /// Where it is, in this process.
    pub address: u64,
}

impl<'a> Provided<'a> {
    /// A symbol without a version.
    pub fn new(name: impl Into<Name<'a>>, kind: ProvidedKind, address: usize) -> Provided<'a> {
        Provided { name: name.into(), version: None, kind, address: address as u64 }
    }

    /// A function without a version.
    pub fn function(name: impl Into<Name<'a>>, address: usize) -> Provided<'a> {
        Provided::new(name, ProvidedKind::Function, address)
    }

    /// The same symbol with a version.
    pub fn with_version(self, version: Option<ProvidedVersion>) -> Provided<'a> {
        Provided { version, ..self }
    }

    /// The same symbol somewhere else.
    pub fn at(self, address: usize) -> Provided<'a> {
        Provided { address: address as u64, ..self }
    }
}

/// A provider could not be written.
#[derive(Debug, Error)]
pub enum ProviderError {
    /// A name holds a NUL byte or is empty.
    #[error("provider {soname}: {name:?} is not a symbol name")]
    Name {
        /// The provider.
        soname: String,
        /// The bad name.
        name: String,
    },
    /// A symbol has a version that the provider does not define.
    #[error("provider {soname}: {symbol} has version {place} of {count}")]
    UnknownVersion {
        /// The provider.
        soname: String,
        /// The symbol.
        symbol: String,
        /// Where its version should be, counted from 0.
        place: usize,
        /// How many there are.
        count: usize,
    },
    /// More than 32,000 versions.
    #[error("provider {soname}: too many symbol versions")]
    Versions {
        /// The provider.
        soname: String,
    },
}

/// Writes the provider library `soname` that defines `symbols`, for x86-64.
///
/// `needed` are the names or paths of libraries that are to be loaded with it. `versions` are defined in this order whether a
/// symbol has them or not: a tool's reference to a version that the library lacks is an error in `ld.so` even where no
/// symbol needs it.
///
/// Strings are not merged and the records are laid out by hand: this runs in the MPI process, once per instance, over
/// thousands of symbols.
///
/// # Errors
/// When a name cannot stand in a string table, or a version is not defined.
pub fn write(
    soname: &str,
    needed: &[&str],
    versions: &[&str],
    symbols: &[Provided<'_>],
) -> Result<Vec<u8>, ProviderError> {
    Template::new(soname, needed, versions, symbols).map(Template::into_file)
}

/// The same without versions, and with a destructor: the address of a function without arguments that `ld.so` calls when it finalizes
/// the provider.
///
/// # Errors
/// As [`write()`].
pub fn write_with_destructor(
    soname: &str,
    needed: &[&str],
    symbols: &[Provided<'_>],
    destructor: usize,
) -> Result<Vec<u8>, ProviderError> {
    let life = Life { destructor: Some(destructor), ..Life::default() };
    Template::build(soname, needed, &[], symbols, life).map(Template::into_file)
}

/// A provider of these symbols alone that can be closed: of a library that may be closed, too.
///
/// # Errors
/// As [`write()`].
pub fn write_closable(soname: &str, symbols: &[Provided<'_>]) -> Result<Vec<u8>, ProviderError> {
    Template::build(soname, &[], &[], symbols, Life { is_closable: true, ..Life::default() }).map(Template::into_file)
}

/// What a provider has besides tables.
#[derive(Debug, Clone, Copy, Default)]
struct Life {
    /// The address of a function that is called at the end.
    destructor: Option<usize>,
    /// It can be closed before the process ends.
    is_closable: bool,
    /// Some of its symbols are thread-local variables.
    has_thread_local: bool,
}

/// A provider that is written again with other addresses: instances of one tool need the same symbols.
#[derive(Debug)]
pub struct Template {
    file: Vec<u8>,
    /// Where the address of each symbol is in the file.
    addresses: Vec<usize>,
}

impl Template {
    /// The provider as [`write()`] writes it.
    ///
    /// # Errors
    /// The same.
    pub fn new(
        soname: &str,
        needed: &[&str],
        versions: &[&str],
        symbols: &[Provided<'_>],
    ) -> Result<Template, ProviderError> {
        Template::build(soname, needed, versions, symbols, Life::default())
    }

    fn build(
        soname: &str,
        needed: &[&str],
        versions: &[&str],
        symbols: &[Provided<'_>],
        life: Life,
    ) -> Result<Template, ProviderError> {
        // The empty name is that of the program among libraries, and of no version or symbol.
        let libraries = [soname].into_iter().chain(needed.iter().copied()).filter(|name| !name.is_empty());
        let others = libraries.chain(versions.iter().copied()).map(Name::from);
        if let Some(name) = symbols.iter().map(|symbol| symbol.name).chain(others).find(|name| !name.is_sound()) {
            return Err(ProviderError::Name { soname: soname.into(), name: name.to_string() });
        }
        if versions.len() > 32_000 {
            return Err(ProviderError::Versions { soname: soname.into() });
        }
        let buckets = Buckets::new(symbols);
        let mut strings = Strings::new(0);
        let soname_at = strings.add(soname);
        let needed: Vec<u32> = needed.iter().map(|name| strings.add(name)).collect();
        let verdefs = if versions.is_empty() {
            Vec::new()
        } else {
            let own = versions.iter().zip(FIRST_VERSION..).map(|(name, number)| (number, name.as_bytes()));
            version_definitions(soname, soname_at, own, &mut strings)
        };

        let names: usize = symbols.iter().map(|symbol| symbol.name.bytes().len() + 1).sum();
        let size = (1 + symbols.len()) * (SYMBOL + size_of::<u16>()) + buckets.section_len(symbols.len());
        let mut file = Contents::with_room_for(size + names + strings.len() as usize + verdefs.len());
        let mut addresses = vec![0; symbols.len()];
        let hash = file.section(|file| buckets.add_section(symbols, file));
        let first_name = strings.len();
        let table = file.section(|file| {
            // Symbol 0 is the null symbol.
            file.extend_from_slice(bytes_of(&elf::Sym64::<LE>::default()));
            let mut name = first_name;
            for index in buckets.order.iter().copied() {
                let symbol = &symbols[index as usize];
                addresses[index as usize] = file.len() + VALUE;
                file.extend_from_slice(bytes_of(&record(symbol.kind, symbol.address, name)));
                name += symbol.name.bytes().len() as u32 + 1;
            }
        });
        let strings = file.section(|file| {
            file.extend_from_slice(&strings.text);
            for index in buckets.order.iter().copied() {
                file.extend_from_slice(symbols[index as usize].name.bytes());
                file.push(0);
            }
        });
        let mut unknown = None;
        let versyms = file.section(|file| {
            if versions.is_empty() {
                return;
            }
            file.extend_from_slice(&[0, 0]);
            for index in buckets.order.iter().copied() {
                let symbol = &symbols[index as usize];
                match version_number(soname, versions.len(), symbol) {
                    Ok(number) => file.extend_from_slice(&number.to_le_bytes()),
                    Err(error) => unknown = unknown.take().or(Some(error)),
                }
            }
        });
        if let Some(error) = unknown {
            return Err(error);
        }
        let verdefs = file.section(|file| file.extend_from_slice(&verdefs));
        let tables = TableRanges { hash, symbols: table, strings, versyms, verdefs };
        let has_thread_local = symbols.iter().any(|symbol| symbol.kind == ProvidedKind::ThreadLocal);
        let life = Life { has_thread_local, ..life };
        Ok(Template { file: file.finish(&tables, soname_at, &needed, versions.len(), life), addresses })
    }

    /// The provider with these addresses, in the order of the symbols.
    pub fn with(&mut self, addresses: impl IntoIterator<Item = u64>) -> &[u8] {
        for (place, address) in self.addresses.iter().zip(addresses) {
            self.file[*place..][..size_of::<u64>()].copy_from_slice(&address.to_le_bytes());
        }
        &self.file
    }

    /// The provider as it was written last.
    pub fn file(&self) -> &[u8] {
        &self.file
    }

    /// The same for good.
    pub fn into_file(self) -> Vec<u8> {
        self.file
    }
}

/// Size of a symbol's record.
const SYMBOL: usize = size_of::<elf::Sym64<LE>>();
/// Where its address is in it.
const VALUE: usize = std::mem::offset_of!(elf::Sym64<LE>, st_value);

fn record(kind: ProvidedKind, address: u64, name: u32) -> elf::Sym64<LE> {
    let kind = match kind {
        ProvidedKind::Function => elf::STT_FUNC,
        ProvidedKind::Data => elf::STT_OBJECT,
        ProvidedKind::ThreadLocal => elf::STT_TLS,
    };
    elf::Sym64 {
        st_name: U32::new(LE, name),
        st_info: (elf::STB_GLOBAL << 4) | kind,
        st_other: elf::STV_DEFAULT,
        st_shndx: U16::new(LE, elf::SHN_ABS),
        st_value: U64::new(LE, address),
        st_size: U64::new(LE, 0),
    }
}

fn version_number(soname: &str, count: usize, symbol: &Provided<'_>) -> Result<u16, ProviderError> {
    let Some(ProvidedVersion { place, default }) = symbol.version else { return Ok(elf::VER_NDX_GLOBAL) };
    if usize::from(place) >= count {
        let symbol = symbol.name.to_string();
        return Err(ProviderError::UnknownVersion { soname: soname.into(), symbol, place: place.into(), count });
    }
    let hidden = if default { 0 } else { VERSYM_HIDDEN };
    // Below 32,000: checked by the caller.
    Ok((FIRST_VERSION + place) | hidden)
}

/// `.gnu.version_d`: the library itself, then its versions by number, each with one name.
fn version_definitions<'a>(
    soname: &'a str,
    soname_at: u32,
    versions: impl Iterator<Item = (u16, &'a [u8])>,
    strings: &mut Strings,
) -> Vec<u8> {
    let mut section = Vec::new();
    let size = size_of::<elf::Verdef<LE>>() as u32;
    let step = size + size_of::<elf::Verdaux<LE>>() as u32;
    let own = versions.map(|(number, name)| (0, number, name, None));
    let mut all = [(elf::VER_FLG_BASE, 1, soname.as_bytes(), Some(soname_at))].into_iter().chain(own).peekable();
    while let Some((flags, index, name, at)) = all.next() {
        section.extend_from_slice(bytes_of(&elf::Verdef::<LE> {
            vd_version: U16::new(LE, elf::VER_DEF_CURRENT),
            vd_flags: U16::new(LE, flags),
            vd_ndx: U16::new(LE, index),
            vd_cnt: U16::new(LE, 1),
            vd_hash: U32::new(LE, elf::hash(name)),
            vd_aux: U32::new(LE, size),
            vd_next: U32::new(LE, if all.peek().is_none() { 0 } else { step }),
        }));
        section.extend_from_slice(bytes_of(&elf::Verdaux::<LE> {
            vda_name: U32::new(LE, at.unwrap_or_else(|| strings.add_bytes(name))),
            vda_next: U32::new(LE, 0),
        }));
    }
    section
}

/// A part of a string table: all but the names of symbols.
struct Strings {
    /// Where it begins in the table.
    start: u32,
    text: Vec<u8>,
}

impl Strings {
    /// One that begins with an empty name, at this place.
    fn new(start: u32) -> Strings {
        Strings { start, text: vec![0] }
    }

    /// Where the table ends.
    fn len(&self) -> u32 {
        self.start + self.text.len() as u32
    }

    fn add(&mut self, text: &str) -> u32 {
        self.add_bytes(text.as_bytes())
    }

    fn add_bytes(&mut self, text: &[u8]) -> u32 {
        let at = self.len();
        self.text.extend_from_slice(text);
        self.text.push(0);
        at
    }
}

/// The symbols in the order that `.gnu.hash` wants: bucket by bucket.
struct Buckets {
    count: u32,
    order: Vec<u32>,
    /// Where each bucket starts in `order`; one more at the end.
    starts: Vec<u32>,
}

impl Buckets {
    fn new(symbols: &[Provided<'_>]) -> Buckets {
        let count = symbols.len() as u32 / 2 + 1;
        let mut starts = vec![0; count as usize + 1];
        for symbol in symbols {
            starts[(symbol.name.hash() % count) as usize + 1] += 1;
        }
        for bucket in 0..count as usize {
            starts[bucket + 1] += starts[bucket];
        }
        let mut next = starts.clone();
        let mut order = vec![0; symbols.len()];
        for (index, symbol) in symbols.iter().enumerate() {
            let place = &mut next[(symbol.name.hash() % count) as usize];
            order[*place as usize] = index as u32;
            *place += 1;
        }
        Buckets { count, order, starts }
    }

    /// How many words the Bloom filter of so many symbols has.
    fn bloom_words(symbols: usize) -> u32 {
        (symbols as u32 / 8).next_power_of_two()
    }

    /// Bytes of the section with so many symbols.
    fn section_len(&self, symbols: usize) -> usize {
        16 + Buckets::bloom_words(symbols) as usize * 8 + (self.count as usize + symbols) * 4
    }

    /// Header, Bloom filter, first symbol of each bucket, hash of each symbol (the lowest bit ends a bucket).
    fn add_section(&self, symbols: &[Provided<'_>], section: &mut Vec<u8>) {
        let bloom_count = Buckets::bloom_words(symbols.len());
        let mut bloom = vec![0u64; bloom_count as usize];
        for symbol in symbols {
            let word = &mut bloom[((symbol.name.hash() / 64) & (bloom_count - 1)) as usize];
            *word |= (1 << (symbol.name.hash() % 64)) | (1 << ((symbol.name.hash() >> BLOOM_SHIFT) % 64));
        }
        let words = [self.count, 1, bloom_count, BLOOM_SHIFT];
        section.extend(words.into_iter().flat_map(u32::to_le_bytes));
        section.extend(bloom.into_iter().flat_map(u64::to_le_bytes));
        for range in self.starts.windows(2) {
            // Symbol 0 is the null symbol: the first of ours is 1, and 0 marks an empty bucket.
            let first = if range[0] == range[1] { 0 } else { range[0] + 1 };
            section.extend_from_slice(&first.to_le_bytes());
        }
        for range in self.starts.windows(2) {
            for place in range[0]..range[1] {
                let hash = symbols[self.order[place as usize] as usize].name.hash();
                let end = u32::from(place + 1 == range[1]);
                section.extend_from_slice(&((hash & !1) | end).to_le_bytes());
            }
        }
    }
}

/// Where the tables are in the file: start and end.
struct TableRanges {
    hash: Range<usize>,
    symbols: Range<usize>,
    strings: Range<usize>,
    versyms: Range<usize>,
    verdefs: Range<usize>,
}

/// A provider's file under construction. Each table is written where it stays: what start-up takes from the heap it takes
/// page by page from the kernel, which costs more than to fill the page.
struct Contents(Vec<u8>);

impl Contents {
    const SEGMENTS: usize = 5;
    const HEADERS: usize =
        size_of::<elf::FileHeader64<LE>>() + Contents::SEGMENTS * size_of::<elf::ProgramHeader64<LE>>();

    /// One whose tables have so many bytes.
    fn with_room_for(tables: usize) -> Contents {
        let mut file = Vec::with_capacity(tables + Contents::HEADERS + 2 * PAGE);
        file.resize(Contents::HEADERS, 0);
        Contents(file)
    }

    /// Adds what `write` appends.
    fn section(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Range<usize> {
        let start = self.0.len().next_multiple_of(8);
        self.0.resize(start, 0);
        write(&mut self.0);
        start..self.0.len()
    }

    /// The file with these tables, the last thing in it.
    fn finish(
        self,
        tables: &TableRanges,
        soname_at: u32,
        needed: &[u32],
        versions: usize,
        Life { destructor, is_closable, has_thread_local }: Life,
    ) -> Vec<u8> {
        let mut file = self.0;
        let tables_end = file.len();
        let writable_at = tables_end.next_multiple_of(PAGE);
        file.resize(writable_at, 0);
        if let Some(address) = destructor {
            // An absolute address, as all of them: nothing relocates it.
            file.extend_from_slice(&(address as u64).to_le_bytes());
        }
        let dynamic_at = file.len();
        let flags = if is_closable { 0 } else { elf::DF_1_NODELETE };

        let mut entries: Vec<(i64, u64)> = needed.iter().map(|name| (elf::DT_NEEDED, (*name).into())).collect();
        entries.extend([
            (elf::DT_SONAME, soname_at.into()),
            (elf::DT_GNU_HASH, tables.hash.start as u64),
            (elf::DT_SYMTAB, tables.symbols.start as u64),
            (elf::DT_STRTAB, tables.strings.start as u64),
            (elf::DT_STRSZ, tables.strings.len() as u64),
            (elf::DT_SYMENT, size_of::<elf::Sym64<LE>>() as u64),
            // Providers stay for ever, but for a few. Said, this spares `ld.so` from noting which object depends on one, for which it allocates when it
            // binds a function at its first call, perhaps in a signal handler (`elf/dl-lookup.c: add_dependency`).
            (elf::DT_FLAGS_1, flags.into()),
        ]);
        let size = (dynamic_at - writable_at) as u64;
        if destructor.is_some() {
            entries.extend([(elf::DT_FINI_ARRAY, writable_at as u64), (elf::DT_FINI_ARRAYSZ, size)]);
        }
        if versions > 0 {
            entries.push((elf::DT_VERSYM, tables.versyms.start as u64));
            entries.push((elf::DT_VERDEF, tables.verdefs.start as u64));
            entries.push((elf::DT_VERDEFNUM, versions as u64 + 1));
        }
        entries.push((elf::DT_NULL, 0));
        for (tag, value) in entries {
            let entry = elf::Dyn64::<LE> { d_tag: I64::new(LE, tag), d_val: U64::new(LE, value) };
            file.extend_from_slice(bytes_of(&entry));
        }
        let end = file.len();
        write_headers(
            &mut file,
            [
                (elf::PT_LOAD, elf::PF_R, 0, tables_end, PAGE),
                (elf::PT_LOAD, elf::PF_R | elf::PF_W, writable_at, end, PAGE),
                (elf::PT_DYNAMIC, elf::PF_R | elf::PF_W, dynamic_at, end, 8),
                (elf::PT_GNU_STACK, elf::PF_R | elf::PF_W, 0, 0, 16),
                // Of one byte: `ld.so` gives the object a place in static TLS where a reference wants one, for which it divides by the alignment.
                if has_thread_local {
                    (elf::PT_TLS, elf::PF_R, writable_at, writable_at + 1, 1)
                } else {
                    (elf::PT_NULL, 0, 0, 0, 1)
                },
            ],
        );
        file
    }
}

/// Fills in the file header and the segments: type, flags, start, end, alignment.
fn write_headers(file: &mut [u8], segments: [(u32, u32, usize, usize, usize); Contents::SEGMENTS]) {
    let header_size = size_of::<elf::FileHeader64<LE>>();
    let segment_size = size_of::<elf::ProgramHeader64<LE>>();
    let header = elf::FileHeader64::<LE> {
        e_ident: elf::Ident {
            magic: elf::ELFMAG,
            class: elf::ELFCLASS64,
            data: elf::ELFDATA2LSB,
            version: elf::EV_CURRENT,
            os_abi: elf::ELFOSABI_NONE,
            abi_version: 0,
            padding: [0; 7],
        },
        e_type: U16::new(LE, elf::ET_DYN),
        e_machine: U16::new(LE, HOST),
        e_version: U32::new(LE, elf::EV_CURRENT.into()),
        e_entry: U64::new(LE, 0),
        e_phoff: U64::new(LE, header_size as u64),
        e_shoff: U64::new(LE, 0),
        e_flags: U32::new(LE, 0),
        e_ehsize: U16::new(LE, header_size as u16),
        e_phentsize: U16::new(LE, segment_size as u16),
        e_phnum: U16::new(LE, segments.len() as u16),
        e_shentsize: U16::new(LE, 0),
        e_shnum: U16::new(LE, 0),
        e_shstrndx: U16::new(LE, 0),
    };
    file[..header_size].copy_from_slice(bytes_of(&header));
    for (index, (kind, flags, start, end, align)) in segments.into_iter().enumerate() {
        let (start, len) = (U64::new(LE, start as u64), U64::new(LE, (end - start) as u64));
        let segment = elf::ProgramHeader64::<LE> {
            p_type: U32::new(LE, kind),
            p_flags: U32::new(LE, flags),
            p_offset: start,
            p_vaddr: start,
            p_paddr: start,
            p_filesz: len,
            p_memsz: len,
            p_align: U64::new(LE, align as u64),
        };
        let at = header_size + index * segment_size;
        file[at..at + segment_size].copy_from_slice(bytes_of(&segment));
    }
}
