//! The tables of one object, each a view that ends where the table ends.

use core::ffi::CStr;

use crate::bytes::Bytes;
use crate::dynamic::{Dynamic, Table, entries};
use crate::hash::{self, GnuHash, SysvHash};
use crate::symbol::{SYMBOL, Symbol, SymbolTable};
use crate::tags::DT_NEEDED;
use crate::version::{Index, Version, Versions};

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
    pub(crate) symbols: SymbolTable<'a>,
    gnu_hash: Option<GnuHash<'a>>,
    sysv_hash: Option<SysvHash<'a>>,
    version_indexes: Bytes<'a>,
    /// All that is there from the first symbol on, and from the first index of a version on.
    room: [Bytes<'a>; 2],
    version_definitions: Bytes<'a>,
    version_needs: Bytes<'a>,
    /// DT_RELA and DT_JMPREL.
    pub(crate) relocations: [Bytes<'a>; 2],
    /// So many entries of DT_RELA, the first, are relative: `ld.so` looks at nothing else in them.
    pub(crate) relative_count: usize,
    fault: Option<Fault>,
}

/// The tables by which `ld.so` finds definitions, besides the symbols.
#[derive(Debug, Clone, Copy)]
pub struct OfDefinitions<'a> {
    /// DT_GNU_HASH.
    pub hash: Bytes<'a>,
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

/// Size of an entry of DT_VERSYM.
const VERSION_INDEX: usize = size_of::<u16>();

impl<'a> Tables<'a> {
    /// The tables to which `dynamic` points; `section` is what it was read from. `memory` gives the bytes from an address to the end of
    /// what is there.
    pub fn of(dynamic: &Dynamic, section: Bytes<'a>, memory: impl Fn(Table, u64) -> Option<Bytes<'a>>) -> Tables<'a> {
        Tables::for_names(dynamic, section, memory).counted()
    }

    /// The same for a look at some names: the symbols end where the next table begins, and no more have an index of a version. Counting
    /// them would take longer than finding a few.
    pub fn for_names(
        dynamic: &Dynamic,
        section: Bytes<'a>,
        memory: impl Fn(Table, u64) -> Option<Bytes<'a>>,
    ) -> Tables<'a> {
        let whole = |table| memory(table, dynamic.extent(table)?.address);
        let view = |table| {
            let extent = dynamic.extent(table)?;
            extent.of(memory(table, extent.address)?)
        };
        let mut fault = None;
        let mut checked = |table| {
            let is_outside = || dynamic.extent(table).map(|_| Fault { table, detail: None });
            view(table).unwrap_or_else(|| {
                fault = fault.or_else(is_outside);
                Bytes::EMPTY
            })
        };
        // DT_STRSZ is compared with what is there, and not used for names: ld.so does not look at it.
        let own_strings = checked(Table::Strings);
        let gnu_hash = GnuHash::of(checked(Table::GnuHash));
        let sysv_hash = SysvHash::of(checked(Table::SysvHash));
        let version_indexes = checked(Table::VersionIndexes);
        let version_definitions = checked(Table::VersionDefinitions);
        let version_needs = checked(Table::VersionNeeds);
        let mut symbols = checked(Table::Symbols);
        let strings = whole(Table::Strings).unwrap_or(Bytes::EMPTY);
        let room = [Table::Symbols, Table::VersionIndexes].map(|table| whole(table).unwrap_or(Bytes::EMPTY));
        // No contradictions of an object's symbols: the reader of a file does without relocations.
        let relocations = [Table::Relocations, Table::PltRelocations].map(|table| view(table).unwrap_or(Bytes::EMPTY));

        if !version_indexes.is_empty() {
            symbols = symbols.up_to((version_indexes.len() / VERSION_INDEX).saturating_mul(SYMBOL));
        }
        let mut tables = Tables {
            section,
            soname: dynamic.soname,
            own_strings,
            symbols: SymbolTable { entries: symbols, strings },
            gnu_hash,
            sysv_hash,
            version_indexes,
            room,
            version_definitions,
            version_needs,
            relocations,
            relative_count: usize::try_from(dynamic.relative_count).unwrap_or(usize::MAX),
            fault,
        };
        let is_whole =
            [gnu_hash.is_some_and(|table| table.is_whole()), sysv_hash.is_some_and(|table| table.is_whole())];
        for (table, is_whole) in [Table::GnuHash, Table::SysvHash].into_iter().zip(is_whole) {
            if !is_whole && dynamic.extent(table).is_some() {
                tables.fail(table, None);
            }
        }
        tables
    }

    /// With as many symbols as there are.
    ///
    /// The count is recorded nowhere but in the hash tables. A library that exports nothing has an empty `.gnu.hash`, whose
    /// first symbol is number 1 whatever it imports (binutils `bfd/elflink.c`, "Empty .gnu.hash section is special"): the
    /// symbols then end where the next table begins, because linkers put one right behind `.dynsym`. Tools that rewrite a file
    /// move tables away from there (patchelf, and our own copies); but there are as many indexes of versions as symbols.
    pub(crate) fn counted(mut self) -> Tables<'a> {
        let sysv = self.sysv_hash.map(|hash| [hash.symbol_count(), hash.end_of_chains()]);
        let gnu = self.gnu_hash.and_then(|hash| {
            hash.symbol_count().unwrap_or_else(|detail| {
                self.fail(Table::GnuHash, Some(detail));
                None
            })
        });
        // What one table says too little, because ld.so uses the other.
        let counts = sysv.into_iter().flatten().chain(gnu);
        let has_room = |count: &usize| self.first_symbols(*count).is_some();
        let most = counts.clone().filter(has_room).max();
        if !counts.clone().all(|count| has_room(&count)) {
            self.fail(Table::Symbols, None);
        }
        self.with_symbol_count(most.unwrap_or(self.symbol_count()))
    }

    /// With so many symbols ([`Tables::symbol_count`]), if there is room for them.
    pub fn with_symbol_count(mut self, count: usize) -> Tables<'a> {
        self.symbols.entries = self.first_symbols(count).unwrap_or(Bytes::EMPTY);
        // A symbol without an index has no version. ld.so reads further where there is less than one for each.
        let indexes = count.saturating_mul(VERSION_INDEX);
        if !self.version_indexes.is_empty() {
            if self.version_indexes.len() < indexes {
                self.fail(Table::VersionIndexes, None);
                [_, self.version_indexes] = self.room;
            }
            self.version_indexes = self.version_indexes.up_to(indexes);
        }
        self
    }

    fn first_symbols(&self, count: usize) -> Option<Bytes<'a>> {
        let [symbols, _] = self.room;
        symbols.first(count.checked_mul(SYMBOL)?)
    }

    fn fail(&mut self, table: Table, detail: Option<&'static str>) {
        self.fault = self.fault.or(Some(Fault { table, detail }));
    }

    /// The first thing in which the tables contradict themselves or the size of the object, if anything.
    ///
    /// For files, which are then refused. Objects that `ld.so` has loaded are used as far as their tables go.
    pub fn check(&self) -> Option<Fault> {
        let walk = |table, mut versions: Versions<'a>| {
            versions.by_ref().for_each(drop);
            versions.fault().map(|detail| Fault { table, detail: Some(detail) })
        };
        self.fault
            .or_else(|| walk(Table::VersionDefinitions, self.version_definitions()))
            .or_else(|| walk(Table::VersionNeeds, self.version_needs()))
    }

    /// The tables by which `ld.so` finds definitions, for a copy; `None` if the object has no DT_GNU_HASH, or one of them is not whole.
    pub fn of_definitions(&self) -> Option<OfDefinitions<'a>> {
        let hash = self.gnu_hash?;
        let listed = self.symbol_count().checked_sub(hash.first_symbol())?;
        let versions = self.symbol_count().checked_mul(VERSION_INDEX)?;
        let is_whole = self.fault.is_none() && !self.own_strings.is_empty();
        let has_versions = [0, versions].contains(&self.version_indexes.len());
        (is_whole && has_versions).then_some(OfDefinitions {
            hash: hash.of_symbols(listed)?,
            strings: self.own_strings,
            version_indexes: self.version_indexes,
        })
    }

    /// DT_SONAME.
    pub fn soname(&self) -> Option<&'a CStr> {
        self.symbols.strings.string(usize::try_from(self.soname?).ok()?)
    }

    /// DT_NEEDED, in order; names that are not inside of the string table are left out.
    pub fn needed(&self) -> impl Iterator<Item = &'a CStr> + use<'a> {
        let strings = self.symbols.strings;
        self.needed_offsets().filter_map(move |offset| strings.string(usize::try_from(offset).ok()?))
    }

    /// DT_NEEDED as offsets in the string table.
    pub fn needed_offsets(&self) -> impl Iterator<Item = u64> + use<'a> {
        entries(self.section).filter(|(tag, _)| *tag == DT_NEEDED).map(|(_, value)| value)
    }

    /// The hashes of the names that `ld.so` finds, each but for its lowest bit; `None`: the object has no DT_GNU_HASH.
    pub fn gnu_hashes(&self) -> Option<impl Iterator<Item = u32> + use<'a>> {
        let (hash, end) = (self.gnu_hash?, self.symbol_count());
        Some((hash.first_symbol()..end).map_while(move |index| hash.hash_of(index)))
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
    pub fn symbols(&self) -> impl Iterator<Item = Symbol<'a>> + use<'a> {
        let table = self.symbols;
        (1..).map_while(move |index| table.symbol(index))
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

    /// The definition that what asks gets (glibc, `elf/dl-lookup.c: check_match`).
    pub fn find_asked(&self, name: &[u8], hash: u32, asked: Asked<'_>) -> Option<Symbol<'a>> {
        let (mut other, mut others) = (None, 0_usize);
        for symbol in self.definitions(name, hash) {
            match self.fit(&symbol, asked) {
                Fit::Yes => return Some(symbol),
                Fit::No => {}
                Fit::UnlessAnother => {
                    other = other.or(Some(symbol));
                    others = others.saturating_add(1);
                }
            }
        }
        other.filter(|_| others == 1 || asked == Asked::Anything)
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

    /// The definitions of a name, of whatever version. Without a hash table ld.so finds none (`elf/dl-lookup.c: do_lookup_x`,
    /// l_nbuckets).
    pub fn definitions<'n>(&self, name: &'n [u8], hash: u32) -> impl Iterator<Item = Symbol<'a>> + use<'a, 'n> {
        let table = self.symbols;
        let gnu = self.gnu_hash.map(|table| table.candidates(hash));
        let sysv = self.sysv_hash.filter(|_| gnu.is_none()).map(|table| table.candidates(hash::sysv(name)));
        let candidates = gnu.into_iter().flatten().chain(sysv.into_iter().flatten());
        let named = candidates.filter_map(move |index| table.symbol(index)).filter(|symbol| symbol.is_named(name));
        named.filter(Symbol::is_found_by_linker)
    }

    /// Which version symbol number `index` has; `None`: the object has no versions.
    pub fn version_index(&self, index: usize) -> Option<Index> {
        self.version_indexes.entry::<u16>(index).map(Index)
    }

    /// The versions that the object defines, its own name included.
    pub fn version_definitions(&self) -> Versions<'a> {
        Versions::new(self.version_definitions, self.symbols.strings, false)
    }

    /// The versions that the object needs.
    pub fn version_needs(&self) -> Versions<'a> {
        Versions::new(self.version_needs, self.symbols.strings, true)
    }

    /// The version that symbol number `index` asks for; `None`: it asks for none, or is defined here.
    pub fn needed_version(&self, index: usize) -> Option<&'a CStr> {
        // The numbers of definitions and needs are different ones (`elf/dl-version.c`).
        let number = self.version_index(index)?.number();
        self.version_needs().find(|need| number >= 2 && need.number == number)?.name()
    }

    /// The name of the version that a definition with this index has.
    pub fn defined_version(&self, index: Index) -> Option<&'a CStr> {
        self.definition(index)?.name()
    }

    fn definition(&self, index: Index) -> Option<Version<'a>> {
        let number = index.number();
        self.version_definitions().find(|definition| definition.number == number && !definition.is_base)
    }
}
