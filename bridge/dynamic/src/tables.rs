//! The tables of one object, each a view that ends where the table ends.

use core::ffi::CStr;

use libc::Elf64_Sym;

use crate::bytes::Bytes;
use crate::dynamic::{self, Dynamic, Table};
use crate::hash::{self, GnuHash, SysvHash};
use crate::symbol::{Symbol, SymbolTable, Symbols};
use crate::version::{Index, Needs, VersionDefinition, VersionDefinitions};

/// The first contradiction in an object's tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub table: Table,
    /// What is wrong; `None`: the table lies outside of the object.
    pub detail: Option<&'static str>,
}

/// The tables of one object. What is not there, or not inside of the object, is empty.
#[derive(Debug, Clone, Copy)]
pub struct Tables<'a> {
    section: Bytes<'a>,
    soname: Option<u64>,
    /// As long as DT_STRSZ says; empty if that reaches beyond what is there.
    own_strings: Bytes<'a>,
    symbols: SymbolTable<'a>,
    gnu_hash: Option<GnuHash<'a>>,
    sysv_hash: Option<SysvHash<'a>>,
    version_indexes: Bytes<'a>,
    version_definitions: Bytes<'a>,
    version_needs: Bytes<'a>,
    relocations: [Bytes<'a>; 2],
    relative_relocations: Bytes<'a>,
    relative_count: usize,
    fault: Option<Fault>,
}

/// The tables by which `ld.so` finds definitions, besides the symbols.
#[derive(Debug, Clone, Copy)]
pub struct OfDefinitions<'a> {
    /// DT_GNU_HASH in its parts: head, Bloom filter, buckets, hashes.
    pub hash: [Bytes<'a>; 4],
    /// DT_STRTAB.
    pub strings: Bytes<'a>,
    /// DT_VERSYM, an entry for each symbol; empty where nothing has a version.
    pub version_indexes: Bytes<'a>,
}

/// What asks for a name: that decides which of several versions it gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked<'a> {
    /// Whatever has the name, the default version first.
    Anything,
    /// A reference to this version, or to none.
    Reference(Option<&'a [u8]>),
    /// `dlsym`
    Dlsym,
    /// `dlvsym` with this version.
    Dlvsym(&'a [u8]),
}

/// Is a definition the one that was asked for?
enum Fit {
    Yes,
    No,
    /// If it is the only one of these.
    UnlessAnother,
}

/// Size of an Elf64_Sym.
const SYMBOL: usize = size_of::<Elf64_Sym>();

impl<'a> Tables<'a> {
    /// The tables to which `dynamic` points; `section` is what it was read from. `memory` gives the bytes from an address to
    /// the end of what is there, and is asked for each table once.
    pub fn of(dynamic: &Dynamic, section: Bytes<'a>, memory: impl Fn(Table, u64) -> Option<Bytes<'a>>) -> Tables<'a> {
        Tables::read(dynamic, section, memory, Tables::count_symbols)
    }

    /// The same for a look at some names: the symbols end where the next table begins. Counting them would take longer than finding
    /// a few.
    pub fn for_names(
        dynamic: &Dynamic,
        section: Bytes<'a>,
        memory: impl Fn(Table, u64) -> Option<Bytes<'a>>,
    ) -> Tables<'a> {
        Tables::read(dynamic, section, memory, |tables, _| tables.whole_symbols())
    }

    /// The same where it is known how many symbols there are ([`Tables::symbol_count`]), and is not worked out again.
    pub fn with_symbol_count(
        dynamic: &Dynamic,
        section: Bytes<'a>,
        memory: impl Fn(Table, u64) -> Option<Bytes<'a>>,
        symbol_count: Option<usize>,
    ) -> Tables<'a> {
        Tables::read(dynamic, section, memory, |tables, whole| match symbol_count {
            Some(count) => tables.first_symbols(whole, count).unwrap_or(Bytes::EMPTY),
            None => tables.count_symbols(whole),
        })
    }

    /// `symbols_of` says which symbols there are, of those from the first to the end of its segment. libqmpi.so has one such function, and no
    /// code of the others.
    fn read(
        dynamic: &Dynamic,
        section: Bytes<'a>,
        memory: impl Fn(Table, u64) -> Option<Bytes<'a>>,
        symbols_of: impl FnOnce(&mut Tables<'a>, Bytes<'a>) -> Bytes<'a>,
    ) -> Tables<'a> {
        let mut fault = None;
        let mut fail = |table, detail| fault = fault.or(Some(Fault { table, detail }));
        let mut view = |table: Table| {
            let Some(extent) = dynamic.extent(table) else { return Bytes::EMPTY };
            let bytes = memory(table, extent.address);
            bytes.and_then(|bytes| extent.of(bytes)).unwrap_or_else(|| {
                fail(table, None);
                Bytes::EMPTY
            })
        };
        let whole = |table| memory(table, dynamic.extent(table)?.address);
        // DT_STRSZ is compared with what is there, and not used for names: ld.so does not look at it.
        let own_strings = view(Table::Strings);
        let strings = whole(Table::Strings).unwrap_or(Bytes::EMPTY);
        let gnu_hash = view(Table::GnuHash);
        let sysv_hash = view(Table::SysvHash);
        let version_indexes = view(Table::VersionIndexes);
        let version_definitions = view(Table::VersionDefinitions);
        let version_needs = view(Table::VersionNeeds);
        // Up to the next table, and all that is there.
        let symbols = view(Table::Symbols);
        let whole_symbols = whole(Table::Symbols).unwrap_or(symbols);
        // No contradictions of an object's symbols: the reader of a file does without relocations.
        let any = |table| {
            let extent = dynamic.extent(table)?;
            extent.of(memory(table, extent.address)?)
        };
        let relocations = [Table::Relocations, Table::PltRelocations].map(|table| any(table).unwrap_or(Bytes::EMPTY));
        let relative_relocations = any(Table::RelativeRelocations).unwrap_or(Bytes::EMPTY);

        let mut tables = Tables {
            section,
            soname: dynamic.soname,
            own_strings,
            symbols: SymbolTable { entries: symbols, strings },
            gnu_hash: GnuHash::of(gnu_hash),
            sysv_hash: SysvHash::of(sysv_hash),
            version_indexes,
            version_definitions,
            version_needs,
            relocations,
            relative_relocations,
            relative_count: usize::try_from(dynamic.relative_count).unwrap_or(usize::MAX),
            fault,
        };
        if !tables.gnu_hash.is_some_and(|table| table.is_whole()) && dynamic.extent(Table::GnuHash).is_some() {
            tables.fail(Table::GnuHash, None);
        }
        if !tables.sysv_hash.is_some_and(|table| table.is_whole()) && dynamic.extent(Table::SysvHash).is_some() {
            tables.fail(Table::SysvHash, None);
        }
        tables.symbols.entries = symbols_of(&mut tables, whole_symbols);
        // A symbol without an index has no version. ld.so reads further where there is less than one for each.
        let indexes = tables.symbol_count().saturating_mul(size_of::<u16>());
        if !tables.version_indexes.is_empty() {
            if tables.version_indexes.len() < indexes {
                tables.fail(Table::VersionIndexes, None);
                tables.version_indexes = whole(Table::VersionIndexes).unwrap_or(Bytes::EMPTY);
            }
            tables.version_indexes = tables.version_indexes.up_to(indexes);
        }
        tables
    }

    /// The symbols, as many as there are; `whole` reaches from the first to the end of its segment.
    ///
    /// The count is recorded nowhere but in the hash tables. A library that exports nothing has an empty `.gnu.hash`, whose
    /// first symbol is number 1 whatever it imports (binutils `bfd/elflink.c`, "Empty .gnu.hash section is special"): the
    /// symbols then end where the next table begins, because linkers put one right behind `.dynsym`. Tools that rewrite a file
    /// move tables away from there (patchelf, and our own copies); but there are as many indexes of versions as symbols.
    fn count_symbols(&mut self, whole: Bytes<'a>) -> Bytes<'a> {
        let mut symbols: Option<Bytes<'a>> = None;
        let mut take = |tables: &mut Tables<'a>, count| match tables.first_symbols(whole, count) {
            // What one table says too little, because ld.so uses the other.
            Some(found) if symbols.is_none_or(|symbols| symbols.len() < found.len()) => symbols = Some(found),
            Some(_) => {}
            None => tables.fail(Table::Symbols, None),
        };
        if let Some(hash) = self.sysv_hash {
            take(self, hash.symbol_count());
            take(self, hash.end_of_chains());
        }
        if let Some(hash) = self.gnu_hash {
            match hash.symbol_count() {
                Ok(Some(count)) => take(self, count),
                Ok(None) => {}
                Err(detail) => self.fail(Table::GnuHash, Some(detail)),
            }
        }
        symbols.unwrap_or_else(|| self.whole_symbols())
    }

    /// The symbols up to the next table, no more than have an index of a version.
    fn whole_symbols(&self) -> Bytes<'a> {
        let mut symbols = self.symbols.entries;
        if !self.version_indexes.is_empty() {
            symbols = symbols.up_to(self.version_indexes.count_of::<u16>().saturating_mul(SYMBOL));
        }
        symbols.up_to(symbols.len().saturating_sub(symbols.len() % SYMBOL))
    }

    fn first_symbols(&self, whole: Bytes<'a>, count: usize) -> Option<Bytes<'a>> {
        whole.first(count.checked_mul(SYMBOL)?)
    }

    fn fail(&mut self, table: Table, detail: Option<&'static str>) {
        self.fault = self.fault.or(Some(Fault { table, detail }));
    }

    /// The first thing in which the tables contradict themselves or the size of the object, if anything.
    ///
    /// For files, which are then refused. Objects that `ld.so` has loaded are used as far as their tables go.
    pub fn check(&self) -> Option<Fault> {
        let chain = |table, detail: Option<&'static str>| Some(Fault { table, detail: Some(detail?) });
        let definitions = || {
            let mut walk = self.version_definitions();
            walk.by_ref().for_each(drop);
            chain(Table::VersionDefinitions, walk.fault())
        };
        let needs = || {
            let mut walk = self.version_needs();
            walk.by_ref().for_each(drop);
            chain(Table::VersionNeeds, walk.fault())
        };
        self.fault.or_else(definitions).or_else(needs)
    }

    /// The string at an offset of the string table.
    pub fn string(&self, offset: u64) -> Option<&'a CStr> {
        self.strings().string(usize::try_from(offset).ok()?)
    }

    /// The string table.
    pub fn strings(&self) -> Bytes<'a> {
        self.symbols.strings
    }

    /// The tables by which `ld.so` finds definitions, for a copy; `None` if the object has no DT_GNU_HASH, or one of them is not whole.
    pub fn of_definitions(&self) -> Option<OfDefinitions<'a>> {
        let hash = self.gnu_hash?;
        let listed = self.symbol_count().checked_sub(hash.first_symbol())?;
        let versions = self.symbol_count().checked_mul(size_of::<u16>())?;
        let is_whole = self.fault.is_none() && !self.own_strings.is_empty();
        let has_versions = [0, versions].contains(&self.version_indexes.len());
        (is_whole && has_versions).then_some(OfDefinitions {
            hash: hash.parts(listed)?,
            strings: self.own_strings,
            version_indexes: self.version_indexes,
        })
    }

    /// DT_SONAME.
    pub fn soname(&self) -> Option<&'a CStr> {
        self.string(self.soname?)
    }

    /// DT_NEEDED, in order; names that are not inside of the string table are left out.
    pub fn needed(&self) -> impl Iterator<Item = &'a CStr> + use<'a> {
        let strings = self.strings();
        self.needed_offsets().filter_map(move |offset| strings.string(usize::try_from(offset).ok()?))
    }

    /// DT_NEEDED as offsets in the string table.
    pub fn needed_offsets(&self) -> impl Iterator<Item = u64> + use<'a> {
        dynamic::needed(self.section)
    }

    /// The address of the symbol table in this process; tells objects apart that are loaded at the same time.
    pub fn symbols_address(&self) -> usize {
        self.symbols.entries.address()
    }

    /// The hashes of the names that `ld.so` finds, each but for its lowest bit; `None`: the object has no DT_GNU_HASH.
    pub fn gnu_hashes(&self) -> Option<impl Iterator<Item = u32> + use<'a>> {
        let hash = self.gnu_hash?;
        let count = self.symbol_count().saturating_sub(hash.first_symbol());
        Some(hash.hashes().take(count))
    }

    /// The hash of the name of symbol number `index`, but for its lowest bit; `None`: the object has no DT_GNU_HASH, or it does not list
    /// the symbol.
    pub fn gnu_hash_of(&self, index: usize) -> Option<u32> {
        self.gnu_hash?.hash_of(index)
    }

    /// How many symbols there are, the null symbol included.
    pub fn symbol_count(&self) -> usize {
        self.symbols.count()
    }

    /// Symbol number `index`, as a relocation names it.
    #[inline]
    pub fn symbol(&self, index: usize) -> Option<Symbol<'a>> {
        self.symbols.symbol(index)
    }

    /// All symbols but the null symbol.
    #[inline]
    pub fn symbols(&self) -> Symbols<'a> {
        Symbols::new(self.symbols)
    }

    /// The symbols that the object refers to and does not define.
    pub fn undefined(&self) -> impl Iterator<Item = Symbol<'a>> + use<'a> {
        // `.gnu.hash` lists definitions, which stand behind all others (binutils `bfd/elflink.c`); of an empty one its first symbol
        // says nothing.
        let first_listed = self.gnu_hash.map(|table| table.first_symbol()).filter(|first| *first > 1);
        let others = self.symbols().take_while(move |symbol| first_listed.is_none_or(|first| symbol.index() < first));
        others.filter(|symbol| !symbol.is_defined() && symbol.is_global() && symbol.name_offset() != 0)
    }

    /// The definition of a name: the one that a reference without a version gets from `dlsym`, else one of any version.
    ///
    /// `hash` is [`hash::gnu`] of the name: many objects are asked for one name. Where there is only a DT_HASH, the other
    /// hash is worked out; without either nothing is found.
    pub fn find(&self, name: &[u8], hash: u32) -> Option<Symbol<'a>> {
        self.find_asked(name, hash, Asked::Anything)
    }

    /// The definition that a reference to `name@version` gets: of this version, or one without versions.
    pub fn find_versioned(&self, name: &[u8], hash: u32, version: &[u8]) -> Option<Symbol<'a>> {
        self.find_asked(name, hash, Asked::Reference(Some(version)))
    }

    /// The definition that a reference without a version gets, as programs have that are linked with a library without versions: of
    /// the base version or the oldest, else the only default one.
    pub fn find_oldest(&self, name: &[u8], hash: u32) -> Option<Symbol<'a>> {
        self.find_asked(name, hash, Asked::Reference(None))
    }

    /// The definition that what asks gets (glibc, `elf/dl-lookup.c: check_match`).
    pub fn find_asked(&self, name: &[u8], hash: u32, asked: Asked<'_>) -> Option<Symbol<'a>> {
        let (mut other, mut others) = (None, 0_usize);
        let found = self.find_candidate(name, hash, |symbol| match self.fit(symbol, asked) {
            Fit::Yes => true,
            Fit::No => false,
            Fit::UnlessAnother => {
                other = other.or(Some(*symbol));
                others = others.saturating_add(1);
                false
            }
        });
        found.or(other.filter(|_| others == 1 || asked == Asked::Anything))
    }

    fn fit(&self, symbol: &Symbol<'_>, asked: Asked<'_>) -> Fit {
        let index = self.version_index(symbol.index());
        let (number, is_hidden) = index.map_or((0, false), |index| (index.number(), index.is_hidden()));
        let version = match asked {
            Asked::Anything if number >= 2 && is_hidden => return Fit::UnlessAnother,
            // With DL_LOOKUP_RETURN_NEWEST, and without.
            Asked::Dlsym if number >= 2 => return if is_hidden { Fit::No } else { Fit::UnlessAnother },
            Asked::Reference(None) if number >= 3 => return if is_hidden { Fit::No } else { Fit::UnlessAnother },
            Asked::Anything | Asked::Dlsym | Asked::Reference(None) => return Fit::Yes,
            Asked::Reference(Some(version)) | Asked::Dlvsym(version) => version,
        };
        let fits = match (index, index.and_then(|index| self.definition(index))) {
            (None, _) => true,
            (_, Some(definition)) => definition.is_named(version),
            // The base version stands for all; a number that stands for no definition counts as no version. ld.so takes it unless it is
            // hidden, dlvsym insists on the version (`version->hidden`).
            (_, None) => !is_hidden && !matches!(asked, Asked::Dlvsym(_)),
        };
        if fits { Fit::Yes } else { Fit::No }
    }

    /// Shows `visit` each definition of a name, of whatever version.
    pub fn each_definition(&self, name: &[u8], hash: u32, mut visit: impl FnMut(Symbol<'a>)) {
        self.find_candidate(name, hash, |symbol| {
            visit(*symbol);
            false
        });
    }

    /// Does a search for its name come to symbol number `index`? `hash` is [`hash::gnu`] of the name, as for [`Self::find`].
    pub fn lists(&self, index: usize, name: &[u8], hash: u32) -> bool {
        match (self.gnu_hash, self.sysv_hash) {
            (Some(table), _) => table.candidates(hash).any(|candidate| candidate == index),
            (None, Some(table)) => table.candidates(hash::sysv(name)).any(|candidate| candidate == index),
            (None, None) => false,
        }
    }

    fn find_candidate(&self, name: &[u8], hash: u32, mut is_it: impl FnMut(&Symbol<'a>) -> bool) -> Option<Symbol<'a>> {
        let fits = |index| {
            let symbol = self.symbol(index)?;
            (symbol.is_named(name) && symbol.is_found_by_linker() && is_it(&symbol)).then_some(symbol)
        };
        match (self.gnu_hash, self.sysv_hash) {
            (Some(table), _) => table.candidates(hash).find_map(fits),
            (None, Some(table)) => table.candidates(hash::sysv(name)).find_map(fits),
            // Without a table ld.so finds nothing (`elf/dl-lookup.c: do_lookup_x`, l_nbuckets).
            (None, None) => None,
        }
    }

    /// Which version symbol number `index` has; `None`: the object has no versions.
    pub fn version_index(&self, index: usize) -> Option<Index> {
        self.version_indexes.entry::<u16>(index).map(Index)
    }

    /// The versions that the object defines, its own name included.
    pub fn version_definitions(&self) -> VersionDefinitions<'a> {
        VersionDefinitions::new(self.version_definitions, self.strings())
    }

    /// The versions that the object needs.
    pub fn version_needs(&self) -> Needs<'a> {
        Needs::new(self.version_needs, self.strings())
    }

    /// The version that symbol number `index` asks for; `None`: it asks for none, or is defined here.
    pub fn needed_version(&self, index: usize) -> Option<&'a CStr> {
        let number = self.version_index(index)?.number();
        // The numbers of definitions and needs are different ones (`elf/dl-version.c`).
        if number < 2 {
            return None;
        }
        self.version_needs().find(|need| need.number == number)?.name()
    }

    /// The name of the version that a definition with this index has.
    pub fn defined_version(&self, index: Index) -> Option<&'a CStr> {
        self.definition(index)?.name()
    }

    fn definition(&self, index: Index) -> Option<VersionDefinition<'a>> {
        let number = index.number();
        self.version_definitions().find(|definition| definition.number == number && !definition.is_base)
    }

    pub(crate) fn symbol_table(&self) -> SymbolTable<'a> {
        self.symbols
    }

    /// DT_RELA and DT_JMPREL.
    pub(crate) fn relocation_tables(&self) -> [Bytes<'a>; 2] {
        self.relocations
    }

    /// So many entries of DT_RELA, the first, are relative: `ld.so` looks at nothing else in them.
    pub(crate) fn relative_count(&self) -> usize {
        self.relative_count
    }

    pub(crate) fn relative_relocations(&self) -> Bytes<'a> {
        self.relative_relocations
    }
}
