//! One symbol of the dynamic symbol table, and walks over all of them.

use core::ffi::CStr;

use libc::Elf64_Sym;

use crate::bytes::Bytes;
use crate::tags::*;

/// Size of an entry of the symbol table.
pub(crate) const SYMBOL: usize = size_of::<Elf64_Sym>();

/// What a symbol stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SymbolKind {
    /// `STT_FUNC`.
    Function,
    /// `STT_OBJECT` or `STT_COMMON`.
    Data,
    /// `STT_TLS`: one per thread; its value is an offset and no address.
    Tls,
    /// `STT_GNU_IFUNC`: a function that returns the function.
    Ifunc,
    /// `STT_NOTYPE`: usual for imports of a library that was not linked with what it calls.
    Untyped,
    /// Any other type.
    Other,
}

/// A symbol; its name is measured when it is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Symbol<'a> {
    index: usize,
    raw: Elf64_Sym,
    strings: Bytes<'a>,
}

impl<'a> Symbol<'a> {
    /// Its number in the symbol table.
    #[inline]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Its name; `None` if that is not inside of the string table.
    #[inline]
    pub fn name(&self) -> Option<&'a CStr> {
        self.strings.string(self.name_offset())
    }

    /// Where its name is in the string table; 0: it has none.
    #[inline]
    pub fn name_offset(&self) -> usize {
        self.raw.st_name as usize
    }

    /// The first bytes of its name, and where that is shorter of what follows it; `None` at the end of the string table.
    #[inline]
    pub fn name_start<const N: usize>(&self) -> Option<[u8; N]> {
        self.strings.read(self.name_offset())
    }

    /// Is this its name?
    #[inline]
    pub fn is_named(&self, name: &[u8]) -> bool {
        self.strings.is_string(self.name_offset(), name)
    }

    /// What it stands for.
    #[inline]
    pub fn kind(&self) -> SymbolKind {
        match self.kind_number() {
            STT_FUNC => SymbolKind::Function,
            STT_OBJECT | STT_COMMON => SymbolKind::Data,
            STT_TLS => SymbolKind::Tls,
            STT_GNU_IFUNC => SymbolKind::Ifunc,
            STT_NOTYPE => SymbolKind::Untyped,
            _ => SymbolKind::Other,
        }
    }

    /// Defined in this object; otherwise referred to.
    #[inline]
    pub fn is_defined(&self) -> bool {
        self.raw.st_shndx != SHN_UNDEF
    }

    /// A definition that gives way (not for ld.so), or a reference that may stay unresolved.
    #[inline]
    pub fn is_weak(&self) -> bool {
        self.binding() == STB_WEAK
    }

    /// `STB_GNU_UNIQUE`: one per namespace, whatever the scope.
    pub fn is_unique(&self) -> bool {
        self.binding() == STB_GNU_UNIQUE
    }

    /// `SHN_ABS`: the value is not relocated.
    #[inline]
    pub fn is_absolute(&self) -> bool {
        self.raw.st_shndx == SHN_ABS
    }

    /// Neither local nor hidden: what the dynamic linker binds, or binds to.
    #[inline]
    pub fn is_global(&self) -> bool {
        let visible = matches!(self.raw.st_other & 3, STV_DEFAULT | STV_PROTECTED);
        matches!(self.binding(), STB_GLOBAL | STB_WEAK | STB_GNU_UNIQUE) && (visible || !self.is_defined())
    }

    /// A definition that ld.so finds (`elf/dl-lookup.c: check_match`).
    #[inline]
    pub fn is_found_by_linker(&self) -> bool {
        let has_place = self.raw.st_value != 0 || self.is_absolute() || self.kind_number() == STT_TLS;
        self.is_defined() && self.is_global() && has_place && !matches!(self.kind(), SymbolKind::Other)
    }

    /// Its address before relocation.
    #[inline]
    pub fn value(&self) -> u64 {
        self.raw.st_value
    }

    /// In bytes; 0 if the object does not say.
    #[inline]
    pub fn size(&self) -> u64 {
        self.raw.st_size
    }

    #[inline]
    fn binding(&self) -> u8 {
        self.raw.st_info >> 4
    }

    #[inline]
    fn kind_number(&self) -> u8 {
        self.raw.st_info & 0xf
    }
}

/// The symbol table and the names in it: what a walk over symbols or relocations takes with it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SymbolTable<'a> {
    /// As many whole entries as there are symbols.
    pub(crate) entries: Bytes<'a>,
    pub(crate) strings: Bytes<'a>,
}

impl<'a> SymbolTable<'a> {
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.entries.len() / SYMBOL
    }

    #[inline]
    pub(crate) fn symbol(&self, index: usize) -> Option<Symbol<'a>> {
        Some(Symbol { index, raw: self.entries.entry(index)?, strings: self.strings })
    }
}
