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
const FILTER_SHIFT: u32 = 26;
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

/// How long a provider stays, and what happens at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// Until the process ends.
    Forever,
    /// As long; then `ld.so` calls the function without arguments at this address.
    WithDestructor(usize),
    /// Until it is closed: that of a library that may be closed, too.
    Closable,
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
    Template::new(soname, needed, versions, symbols, Life::Forever).map(Template::into_file)
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
    let has_versions = !original.version_indexes.is_empty();
    let own = library.version_definitions().filter(|definition| has_versions && !definition.is_base);
    let versions = own.filter_map(|definition| Some((definition.number, definition.name()?.to_bytes())));
    let symbols_size = library.symbol_count().checked_mul(SYMBOL)?;
    let parts = [original.hash, original.strings, original.version_indexes];
    let size = symbols_size + parts.map(Bytes::len).iter().sum::<usize>();
    let mut file = ProviderFile::new(soname, &[], versions, u32::try_from(original.strings.len()).ok()?, size);
    file.add(elf::DT_GNU_HASH, |file| append(original.hash, file));
    let symbols = file.add(elf::DT_SYMTAB, |file| file.resize(file.len() + symbols_size, 0));
    for symbol in library.symbols().filter(Symbol::is_found_by_linker) {
        let Some(address) = address(&symbol) else { continue };
        let kind = if symbol.kind() == SymbolKind::Data { ProvidedKind::Data } else { ProvidedKind::Function };
        let record = record(kind, address, u32::try_from(symbol.name_offset()).ok()?);
        file.bytes[symbols.clone()][symbol.index() * SYMBOL..][..SYMBOL].copy_from_slice(bytes_of(&record));
    }
    file.add_strings(|file, names| {
        append(original.strings, file);
        file.extend_from_slice(names);
    });
    file.add_versions(|file| append(original.version_indexes, file));
    Some(file.finish(Life::Forever, false))
}

fn append(bytes: Bytes<'_>, file: &mut Vec<u8>) {
    let start = file.len();
    file.resize(start + bytes.len(), 0);
    bytes.copy_to(&mut file[start..]);
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
        life: Life,
    ) -> Result<Template, ProviderError> {
        check(versions, symbols, [soname].into_iter().chain(needed.iter().copied()))
            .map_err(|problem| ProviderError { soname: soname.into(), problem })?;
        let count = symbols.len() as u32;
        // `.gnu.hash` wants the symbols bucket by bucket.
        let buckets = count / 2 + 1;
        let mut order: Vec<(u32, usize)> = symbols.iter().map(|it| it.name.hash() % buckets).zip(0..).collect();
        order.sort_by_key(|(bucket, _)| *bucket);
        let in_order = || order.iter().map(|(_, index)| (*index, &symbols[*index]));

        let versions = (FIRST_VERSION..).zip(versions.iter().map(|name| name.as_bytes()));
        let names: usize = symbols.iter().map(|symbol| symbol.name.bytes().len() + 1).sum();
        // Each symbol has a word of the hash table, half a bucket, and a byte or two of the filter.
        let size = names + (1 + symbols.len()) * (SYMBOL + size_of::<u16>() + 2 * size_of::<u64>());
        let mut file = ProviderFile::new(soname, needed, versions, 0, size);
        file.add(elf::DT_GNU_HASH, |file| {
            let start = file.len();
            let filter_words = (count / 8).next_power_of_two();
            let mut writer = Writer::new(Endianness::Little, true, file);
            writer.reserve_until(start);
            writer.reserve_gnu_hash(filter_words, buckets, count);
            let hash = |place: u32| symbols[order[place as usize].1].name.hash();
            // Symbol 0 is the null symbol: the first of ours is 1.
            writer.write_gnu_hash(1, FILTER_SHIFT, filter_words, buckets, count, hash);
        });
        let mut addresses = vec![0; symbols.len()];
        let mut name = file.names.len() as u32;
        file.add(elf::DT_SYMTAB, |file| {
            file.extend_from_slice(bytes_of(&elf::Sym64::<LE>::default()));
            for (index, symbol) in in_order() {
                addresses[index] = file.len() + VALUE;
                file.extend_from_slice(bytes_of(&record(symbol.kind, symbol.address, name)));
                name += symbol.name.bytes().len() as u32 + 1;
            }
        });
        file.add_strings(|file, names| {
            file.extend_from_slice(names);
            for (_, symbol) in in_order() {
                file.extend_from_slice(symbol.name.bytes());
                file.push(0);
            }
        });
        file.add_versions(|file| {
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
        Ok(Template { file: file.finish(life, has_thread_local), addresses })
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

/// A provider's file under construction. Each table is written where it stays: what start-up takes from the heap it takes
/// page by page from the kernel, which costs more than to fill the page.
struct ProviderFile {
    bytes: Vec<u8>,
    /// Of the dynamic section.
    entries: Vec<(i64, u64)>,
    /// A part of the string table: all names but those of symbols, the first one empty.
    names: Vec<u8>,
    /// `.gnu.version_d`: the library itself, then its versions, each with one name.
    definitions: Vec<u8>,
}

const SEGMENTS: usize = 5;
const FILE_HEADER: usize = size_of::<elf::FileHeader64<LE>>();
const SEGMENT: usize = size_of::<elf::ProgramHeader64<LE>>();
/// Size of the definition of a version, and of that with its name.
const VERDEF: u32 = size_of::<elf::Verdef<LE>>() as u32;
const DEFINITION: u32 = VERDEF + size_of::<elf::Verdaux<LE>>() as u32;

impl ProviderFile {
    /// One with versions of these numbers and names, whose tables have `room` bytes besides, and whose names begin `names_at` bytes behind
    /// the beginning of the string table.
    fn new<'a>(
        soname: &'a str,
        needed: &[&str],
        versions: impl Iterator<Item = (u16, &'a [u8])>,
        names_at: u32,
        room: usize,
    ) -> ProviderFile {
        let (mut names, mut definitions) = (vec![0], Vec::new());
        let mut add = |name: &[u8]| {
            let at = names_at + names.len() as u32;
            names.extend_from_slice(name);
            names.push(0);
            at
        };
        let mut entries = vec![(elf::DT_SONAME, add(soname.as_bytes()).into()), (elf::DT_SYMENT, SYMBOL as u64)];
        entries.extend(needed.iter().map(|name| (elf::DT_NEEDED, add(name.as_bytes()).into())));
        let own = versions.map(|(number, name)| (0, number, name));
        let mut all = [(elf::VER_FLG_BASE, 1, soname.as_bytes())].into_iter().chain(own).peekable();
        while let Some((flags, index, name)) = all.next() {
            definitions.extend_from_slice(bytes_of(&elf::Verdef::<LE> {
                vd_version: U16::new(LE, elf::VER_DEF_CURRENT),
                vd_flags: U16::new(LE, flags),
                vd_ndx: U16::new(LE, index),
                vd_cnt: U16::new(LE, 1),
                vd_hash: U32::new(LE, elf::hash(name)),
                vd_aux: U32::new(LE, VERDEF),
                vd_next: U32::new(LE, if all.peek().is_none() { 0 } else { DEFINITION }),
            }));
            definitions.extend_from_slice(bytes_of(&elf::Verdaux::<LE> {
                vda_name: U32::new(LE, add(name)),
                vda_next: U32::new(LE, 0),
            }));
        }

        let headers = FILE_HEADER + SEGMENTS * SEGMENT;
        let mut bytes = Vec::with_capacity(headers + room + names.len() + definitions.len() + 2 * PAGE);
        let mut writer = Writer::new(Endianness::Little, true, &mut bytes);
        writer.reserve_file_header();
        writer.reserve_program_headers(SEGMENTS as u32);
        // It fails where the buffer cannot grow, and a vector can.
        let _ = writer.write_file_header(&FileHeader {
            os_abi: elf::ELFOSABI_NONE,
            abi_version: 0,
            e_type: elf::ET_DYN,
            e_machine: HOST,
            e_entry: 0,
            e_flags: 0,
        });
        bytes.resize(headers, 0);
        ProviderFile { bytes, entries, names, definitions }
    }

    /// Adds the table that `write` appends, whose address has this tag.
    fn add(&mut self, tag: i64, write: impl FnOnce(&mut Vec<u8>)) -> Range<usize> {
        let start = self.bytes.len().next_multiple_of(8);
        self.bytes.resize(start, 0);
        write(&mut self.bytes);
        self.entries.push((tag, start as u64));
        start..self.bytes.len()
    }

    /// Adds the string table, which `write` appends with the names that it is given.
    fn add_strings(&mut self, write: impl FnOnce(&mut Vec<u8>, &[u8])) {
        let names = std::mem::take(&mut self.names);
        let strings = self.add(elf::DT_STRTAB, |file| write(file, &names));
        self.entries.push((elf::DT_STRSZ, strings.len() as u64));
    }

    /// Adds the definitions of versions, if there are any, and the version of each symbol, which `write` appends.
    fn add_versions(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let definitions = std::mem::take(&mut self.definitions);
        let count = definitions.len() / DEFINITION as usize;
        // The library's own name is one.
        if count > 1 {
            self.add(elf::DT_VERSYM, write);
            self.add(elf::DT_VERDEF, |file| file.extend_from_slice(&definitions));
            self.entries.push((elf::DT_VERDEFNUM, count as u64));
        }
    }

    /// The file with these tables, the last thing in it.
    fn finish(self, life: Life, has_thread_local: bool) -> Vec<u8> {
        let ProviderFile { bytes: mut file, mut entries, .. } = self;
        let tables_end = file.len();
        let writable_at = tables_end.next_multiple_of(PAGE);
        file.resize(writable_at, 0);
        if let Life::WithDestructor(address) = life {
            // An absolute address, as all of them: nothing relocates it.
            file.extend_from_slice(&(address as u64).to_le_bytes());
            let size = size_of::<u64>() as u64;
            entries.extend([(elf::DT_FINI_ARRAY, writable_at as u64), (elf::DT_FINI_ARRAYSZ, size)]);
        }
        let dynamic_at = file.len();
        // Providers stay for ever, but for a few. Said, this spares `ld.so` from noting which object depends on one, for which it allocates
        // when it binds a function at its first call, perhaps in a signal handler (`elf/dl-lookup.c: add_dependency`).
        let flags = if life == Life::Closable { 0 } else { elf::DF_1_NODELETE };
        for (tag, value) in entries.into_iter().chain([(elf::DT_FLAGS_1, flags.into()), (elf::DT_NULL, 0)]) {
            let entry = elf::Dyn64::<LE> { d_tag: I64::new(LE, tag), d_val: U64::new(LE, value) };
            file.extend_from_slice(bytes_of(&entry));
        }
        let end = file.len();
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
        file[FILE_HEADER..][..SEGMENTS * SEGMENT].copy_from_slice(bytes_of(&segments));
        file
    }
}
