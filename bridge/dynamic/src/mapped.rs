//! An object as `ld.so` has mapped it: its tables, read from memory.
//!
//! Exact even where the file was replaced, and without any I/O.

use core::ffi::CStr;

use crate::dynamic::{Dynamic, Table};
use crate::relocation::Reference;
use crate::segments::Segments;
use crate::symbol::Symbol;
use crate::tables::Tables;

/// A loaded object that has dynamic symbols.
#[derive(Debug, Clone, Copy)]
pub struct Mapped<'a> {
    segments: Segments<'a>,
    tables: Tables<'a>,
}

impl<'a> Mapped<'a> {
    /// The object with these segments, unless it has no dynamic symbols.
    pub fn at(segments: Segments<'a>) -> Option<Mapped<'a>> {
        let object = Mapped::for_names(segments)?;
        Some(Mapped { tables: object.tables.counted(), ..object })
    }

    /// The same for a look at some names: see [`Tables::for_names`].
    pub fn for_names(segments: Segments<'a>) -> Option<Mapped<'a>> {
        let section = segments.dynamic_section()?;
        // glibc relocates the pointers in place, unless the section is read-only (always in the vDSO).
        let resolve = |value: u64| {
            let (relocated, in_file) = (value as usize, segments.address(value));
            let (likely, other) = if relocated < segments.base() { (in_file, relocated) } else { (relocated, in_file) };
            // Where neither is in the object the table counts as missing.
            (if segments.contains(likely) || !segments.contains(other) { likely } else { other }) as u64
        };
        let dynamic = Dynamic::of(section, resolve);
        dynamic.extent(Table::Symbols)?;
        dynamic.extent(Table::Strings)?;
        let memory = |_, address| segments.bytes(usize::try_from(address).ok()?);
        Some(Mapped { segments, tables: Tables::for_names(&dynamic, section, memory) })
    }

    /// Its segments.
    pub fn segments(&self) -> &Segments<'a> {
        &self.segments
    }

    /// Its tables.
    pub fn tables(&self) -> &Tables<'a> {
        &self.tables
    }

    /// What is added to the addresses in the file.
    pub fn base(&self) -> usize {
        self.segments.base()
    }

    /// Tells it from all other objects that are loaded at the same time.
    pub fn id(&self) -> usize {
        self.tables.symbols.entries.address()
    }

    /// The address of a symbol in this process; 0 if it is not defined here. Of an IFUNC that of its resolver, of a
    /// thread-local variable none.
    pub fn address(&self, symbol: &Symbol<'_>) -> usize {
        match (symbol.is_defined(), symbol.is_absolute()) {
            (false, _) => 0,
            (true, true) => symbol.value() as usize,
            (true, false) => self.segments.address(symbol.value()),
        }
    }

    /// The definition of a name, and its address: see [`Tables::find`].
    pub fn find(&self, name: &[u8], hash: u32) -> Option<(Symbol<'a>, usize)> {
        let symbol = self.tables.find(name, hash)?;
        Some((symbol, self.address(&symbol)))
    }

    /// The words of this object that hold the address of a symbol whose name begins with bytes that `is_likely` likes, with the address of
    /// each word: aligned, and inside of a readable segment.
    pub fn bindings_like<const N: usize, F: Fn([u8; N]) -> bool>(
        &self,
        is_likely: F,
    ) -> impl Iterator<Item = (Reference<'a>, usize)> + use<'a, N, F> {
        let object = *self;
        self.tables.bindings_like(is_likely).filter_map(move |binding| Some((binding, object.word(binding.offset)?)))
    }

    /// Where the word at this address of the file is: aligned, and in a readable segment.
    pub(crate) fn word(&self, offset: u64) -> Option<usize> {
        const WORD: usize = size_of::<usize>();
        let place = self.segments.address(offset);
        (place.is_multiple_of(WORD) && self.segments.bytes(place)?.len() >= WORD).then_some(place)
    }

    /// DT_SONAME.
    pub fn soname(&self) -> Option<&'a CStr> {
        self.tables.soname()
    }
}
