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

use std::ops::Range;

use object::elf;
use object::endian::{Endianness, I64, LittleEndian as LE, U16, U32, U64};
use object::pod::bytes_of;
use object::write::elf::{FileHeader, Writer};
use qmpi_dynamic::{Bytes, Symbol, SymbolKind, Tables};
use thiserror::Error;

use crate::file::name::Name;
use crate::machine::{HOST, LARGEST_PAGE as PAGE};
use crate::write::segment;

/// The second hash of a Bloom filter word is taken from the bits above these (as GNU ld does).
const BLOOM_SHIFT: u32 = 26;
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
#[error("provider {soname}: {problem}")]
pub struct ProviderError {
    /// The provider.
    soname: String,
    /// A name that holds a NUL byte or is empty, or a version that the provider does not define.
    problem: String,
}

/// Writes the provider library `soname` that defines `symbols`, for this machine.
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

/// Writes the provider of a library with the library's own hash table, names and versions: `address` says where each of its definitions
/// is, and leaves out those for which it has none. A provider of thousands of symbols is made in a fifth of the time so.
///
/// `None` if the library has no such tables in one piece.
pub fn copy<'a>(
    soname: &str,
    library: &Tables<'a>,
    mut address: impl FnMut(&Symbol<'a>) -> Option<u64>,
) -> Option<Vec<u8>> {
    let original = library.of_definitions()?;
    let mut strings = Strings::new(u32::try_from(original.strings.len()).ok()?);
    let soname = (soname, strings.add(soname.as_bytes()));
    let mut definitions = Vec::new();
    if !original.version_indexes.is_empty() {
        let own = library.version_definitions().filter(|definition| !definition.is_base);
        let own = own.filter_map(|definition| Some((definition.number, definition.name()?.to_bytes())));
        definitions = version_definitions(soname, own, &mut strings);
    }
    let symbols_size = library.symbol_count().checked_mul(SYMBOL)?;
    let parts = original.hash.iter().chain([&original.strings, &original.version_indexes]);
    let size = parts.map(|part| part.len()).sum::<usize>() + symbols_size + strings.text.len() + definitions.len();
    let mut file = ProviderFile::with_room_for(size, soname.1);
    file.add(elf::DT_GNU_HASH, |file| original.hash.into_iter().for_each(|part| append(part, file)));
    let symbols = file.add(elf::DT_SYMTAB, |file| file.resize(file.len() + symbols_size, 0));
    for symbol in library.symbols().filter(Symbol::is_found_by_linker) {
        let Some(address) = address(&symbol) else { continue };
        let kind = if symbol.kind() == SymbolKind::Data { ProvidedKind::Data } else { ProvidedKind::Function };
        let record = record(kind, address, u32::try_from(symbol.name_offset()).ok()?);
        file.bytes[symbols.clone()][symbol.index() * SYMBOL..][..SYMBOL].copy_from_slice(bytes_of(&record));
    }
    file.add_strings(|file| {
        append(original.strings, file);
        file.extend_from_slice(&strings.text);
    });
    file.add_versions(&definitions, |file| append(original.version_indexes, file));
    Some(file.finish(Life::default()))
}

fn append(bytes: Bytes<'_>, file: &mut Vec<u8>) {
    let start = file.len();
    file.resize(start + bytes.len(), 0);
    bytes.copy_to(&mut file[start..]);
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
        check(versions, symbols, [soname].into_iter().chain(needed.iter().copied()))
            .map_err(|problem| ProviderError { soname: soname.into(), problem })?;
        let buckets = Buckets::new(symbols);
        let in_order = || buckets.order.iter().map(|index| (*index as usize, &symbols[*index as usize]));
        let mut strings = Strings::new(0);
        let soname = (soname, strings.add(soname.as_bytes()));
        let needed: Vec<u32> = needed.iter().map(|name| strings.add(name.as_bytes())).collect();
        let mut definitions = Vec::new();
        if !versions.is_empty() {
            let own = (FIRST_VERSION..).zip(versions.iter().map(|name| name.as_bytes()));
            definitions = version_definitions(soname, own, &mut strings);
        }

        let names: usize = symbols.iter().map(|symbol| symbol.name.bytes().len() + 1).sum();
        let size = (1 + symbols.len()) * (SYMBOL + size_of::<u16>()) + buckets.section_len(symbols.len());
        let mut file = ProviderFile::with_room_for(size + names + strings.text.len() + definitions.len(), soname.1);
        file.entries.extend(needed.into_iter().map(|name| (elf::DT_NEEDED, name.into())));
        file.add(elf::DT_GNU_HASH, |file| buckets.add_section(symbols, file));
        let mut addresses = vec![0; symbols.len()];
        file.add(elf::DT_SYMTAB, |file| {
            // Symbol 0 is the null symbol.
            file.extend_from_slice(bytes_of(&elf::Sym64::<LE>::default()));
            let mut name = strings.end();
            for (index, symbol) in in_order() {
                addresses[index] = file.len() + VALUE;
                file.extend_from_slice(bytes_of(&record(symbol.kind, symbol.address, name)));
                name += symbol.name.bytes().len() as u32 + 1;
            }
        });
        file.add_strings(|file| {
            file.extend_from_slice(&strings.text);
            for (_, symbol) in in_order() {
                file.extend_from_slice(symbol.name.bytes());
                file.push(0);
            }
        });
        file.add_versions(&definitions, |file| {
            file.extend_from_slice(&[0, 0]);
            for (_, symbol) in in_order() {
                let number = symbol.version.map_or(elf::VER_NDX_GLOBAL, |ProvidedVersion { place, default }| {
                    // `name@version`, not `name@@version`, has the bit.
                    (FIRST_VERSION + place) | if default { 0 } else { elf::VERSYM_HIDDEN }
                });
                file.extend_from_slice(&number.to_le_bytes());
            }
        });
        let has_thread_local = symbols.iter().any(|symbol| symbol.kind == ProvidedKind::ThreadLocal);
        Ok(Template { file: file.finish(Life { has_thread_local, ..life }), addresses })
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

/// Can all names stand in a string table, and does each symbol have one of the versions? Else the problem.
fn check<'a>(
    versions: &[&'a str],
    symbols: &[Provided<'a>],
    libraries: impl Iterator<Item = &'a str>,
) -> Result<(), String> {
    // The empty name is that of the program among libraries, and of no version or symbol.
    let others = libraries.filter(|name| !name.is_empty()).chain(versions.iter().copied()).map(Name::from);
    let mut names = symbols.iter().map(|symbol| symbol.name).chain(others);
    if let Some(name) = names.find(|name| !name.is_sound()) {
        return Err(format!("{:?} is not a symbol name", name.to_string()));
    }
    let count = versions.len();
    if count > 32_000 {
        return Err("too many symbol versions".into());
    }
    let is_unknown = |version: ProvidedVersion| usize::from(version.place) >= count;
    let unknown = symbols.iter().find_map(|symbol| Some((symbol.name, symbol.version.filter(|it| is_unknown(*it))?)));
    unknown.map_or(Ok(()), |(name, version)| Err(format!("{name} has version {} of {count}", version.place)))
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

/// `.gnu.version_d`: the library itself, whose name is at this place, then its versions by number, each with one name.
fn version_definitions<'a>(
    (soname, soname_at): (&'a str, u32),
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
            vda_name: U32::new(LE, at.unwrap_or_else(|| strings.add(name))),
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

    fn end(&self) -> u32 {
        self.start + self.text.len() as u32
    }

    fn add(&mut self, text: &[u8]) -> u32 {
        let at = self.end();
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

/// A provider's file under construction. Each table is written where it stays: what start-up takes from the heap it takes
/// page by page from the kernel, which costs more than to fill the page.
struct ProviderFile {
    bytes: Vec<u8>,
    /// Of the dynamic section.
    entries: Vec<(i64, u64)>,
}

const SEGMENTS: usize = 5;
const FILE_HEADER: usize = size_of::<elf::FileHeader64<LE>>();
const SEGMENT: usize = size_of::<elf::ProgramHeader64<LE>>();

impl ProviderFile {
    /// One whose tables have so many bytes, and whose SONAME is at this place in its string table.
    fn with_room_for(tables: usize, soname_at: u32) -> ProviderFile {
        let headers = FILE_HEADER + SEGMENTS * SEGMENT;
        let mut bytes = Vec::with_capacity(tables + headers + 2 * PAGE);
        bytes.resize(headers, 0);
        ProviderFile { bytes, entries: vec![(elf::DT_SONAME, soname_at.into()), (elf::DT_SYMENT, SYMBOL as u64)] }
    }

    /// Adds the table that `write` appends, whose address has this tag.
    fn add(&mut self, tag: i64, write: impl FnOnce(&mut Vec<u8>)) -> Range<usize> {
        let start = self.bytes.len().next_multiple_of(8);
        self.bytes.resize(start, 0);
        write(&mut self.bytes);
        self.entries.push((tag, start as u64));
        start..self.bytes.len()
    }

    fn add_strings(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let strings = self.add(elf::DT_STRTAB, write);
        self.entries.push((elf::DT_STRSZ, strings.len() as u64));
    }

    /// Adds the definitions of versions, if there are any, and the version of each symbol, which `write` appends.
    fn add_versions(&mut self, definitions: &[u8], write: impl FnOnce(&mut Vec<u8>)) {
        let count = definitions.len() / (size_of::<elf::Verdef<LE>>() + size_of::<elf::Verdaux<LE>>());
        // The library's own name is one.
        if count > 1 {
            self.add(elf::DT_VERSYM, write);
            self.add(elf::DT_VERDEF, |file| file.extend_from_slice(definitions));
            self.entries.push((elf::DT_VERDEFNUM, count as u64));
        }
    }

    /// The file with these tables, the last thing in it.
    fn finish(self, Life { destructor, is_closable, has_thread_local }: Life) -> Vec<u8> {
        let ProviderFile { bytes: mut file, mut entries } = self;
        let tables_end = file.len();
        let writable_at = tables_end.next_multiple_of(PAGE);
        file.resize(writable_at, 0);
        if let Some(address) = destructor {
            // An absolute address, as all of them: nothing relocates it.
            file.extend_from_slice(&(address as u64).to_le_bytes());
            let size = size_of::<u64>() as u64;
            entries.extend([(elf::DT_FINI_ARRAY, writable_at as u64), (elf::DT_FINI_ARRAYSZ, size)]);
        }
        let dynamic_at = file.len();
        // Providers stay for ever, but for a few. Said, this spares `ld.so` from noting which object depends on one, for which it allocates
        // when it binds a function at its first call, perhaps in a signal handler (`elf/dl-lookup.c: add_dependency`).
        let flags = if is_closable { 0 } else { elf::DF_1_NODELETE };
        for (tag, value) in entries.into_iter().chain([(elf::DT_FLAGS_1, flags.into()), (elf::DT_NULL, 0)]) {
            let entry = elf::Dyn64::<LE> { d_tag: I64::new(LE, tag), d_val: U64::new(LE, value) };
            file.extend_from_slice(bytes_of(&entry));
        }
        let end = file.len();
        file[..FILE_HEADER].copy_from_slice(&file_header());
        let writable = elf::PF_R | elf::PF_W;
        let segments = [
            segment(elf::PT_LOAD, elf::PF_R, 0..tables_end, 0, PAGE),
            segment(elf::PT_LOAD, writable, writable_at..end, writable_at, PAGE),
            segment(elf::PT_DYNAMIC, writable, dynamic_at..end, dynamic_at, 8),
            segment(elf::PT_GNU_STACK, writable, 0..0, 0, 16),
            // Of one byte: `ld.so` gives the object a place in static TLS where a reference wants one, for which it divides by the alignment.
            match has_thread_local {
                true => segment(elf::PT_TLS, elf::PF_R, writable_at..writable_at + 1, writable_at, 1),
                false => segment(elf::PT_NULL, 0, 0..0, 0, 1),
            },
        ];
        for (index, segment) in segments.iter().enumerate() {
            file[FILE_HEADER + index * SEGMENT..][..SEGMENT].copy_from_slice(bytes_of(segment));
        }
        file
    }
}

/// The header of a file whose program headers are right behind it.
fn file_header() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(Endianness::Little, true, &mut bytes);
    writer.reserve_file_header();
    writer.reserve_program_headers(SEGMENTS as u32);
    let header = FileHeader {
        os_abi: elf::ELFOSABI_NONE,
        abi_version: 0,
        e_type: elf::ET_DYN,
        e_machine: HOST,
        e_entry: 0,
        e_flags: 0,
    };
    // It fails where the buffer cannot grow, and a vector can.
    let _ = writer.write_file_header(&header);
    bytes
}
