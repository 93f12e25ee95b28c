//! Relocations: the words of an object that `ld.so` fills in with addresses.

use core::ffi::CStr;

use crate::bytes::Bytes;
use crate::machine::Machine;
use crate::tables::Tables;

/// Size of an `Elf64_Rela`: r_offset, r_info: u64; r_addend: i64.
const ENTRY: usize = size_of::<[u64; 3]>();

/// What a relocation stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelocationKind {
    /// A symbol's address, plus the addend: a pointer in data.
    Absolute,
    /// A symbol's address, in the GOT.
    GlobDat,
    /// A function's address, in a GOT slot that only the PLT jumps through.
    JumpSlot,
    /// Anything else.
    Other(u32),
}

impl RelocationKind {
    /// What a relocation of this type stores, in files of a machine.
    #[inline]
    const fn of(number: u32, machine: Machine) -> RelocationKind {
        let known = machine.relocations();
        match number {
            _ if number == known.absolute => RelocationKind::Absolute,
            _ if number == known.glob_dat => RelocationKind::GlobDat,
            _ if number == known.jump_slot => RelocationKind::JumpSlot,
            _ => RelocationKind::Other(number),
        }
    }
}

/// One relocation with an addend.
#[derive(Debug, Clone, Copy)]
pub struct Relocation {
    /// The address of the word, before the object was relocated itself.
    pub offset: u64,
    /// What is stored there.
    pub kind: RelocationKind,
    /// The number of the symbol; 0: none.
    pub symbol: usize,
    /// Added to the symbol's address.
    pub addend: i64,
}

impl Relocation {
    /// Those of a table, as DT_JMPREL points to one, in a file for this machine.
    pub fn all(table: Bytes<'_>, machine: Machine) -> impl Iterator<Item = Relocation> + use<'_> {
        (0..).map_while(move |index| {
            let [offset, info, addend] = table.entry::<[u64; 3]>(index)?;
            let (kind, symbol) = (RelocationKind::of(info as u32, machine), (info >> 32) as usize);
            Some(Relocation { offset, kind, symbol, addend: addend as i64 })
        })
    }

    /// Does it store the address of a symbol that it names?
    #[inline]
    fn is_by_name(&self) -> bool {
        self.symbol != 0 && !matches!(self.kind, RelocationKind::Other(_))
    }
}

/// A word of an object that holds the address of a symbol by name.
#[derive(Debug, Clone, Copy)]
pub struct Reference<'a> {
    /// The symbol it refers to.
    pub name: &'a CStr,
    /// The number of that symbol.
    pub symbol: usize,
    /// The address of the word, before the object was relocated itself.
    pub offset: u64,
    /// Added to the symbol's address.
    pub addend: i64,
    /// The word is for calls only: its value is never compared with another address.
    pub is_call: bool,
    /// The reference is weak: null if nothing defines the symbol.
    pub is_weak: bool,
}

impl<'a> Tables<'a> {
    /// Relocations with addends: DT_RELA, then DT_JMPREL.
    #[inline]
    pub fn relocations(&self) -> impl Iterator<Item = Relocation> + use<'a> {
        self.relocations.into_iter().flat_map(|table| Relocation::all(table, Machine::HOST))
    }

    /// The words that hold the address of a symbol by name: the GOT, and pointers in data.
    pub fn bindings(&self) -> impl Iterator<Item = Reference<'a>> + use<'a> {
        self.bindings_like(|_: [u8; 1]| true)
    }

    /// Those of them whose names begin with bytes that `is_likely` likes: measuring a name takes longer than all else, and an object
    /// refers to hundreds.
    pub fn bindings_like<const N: usize, F: Fn([u8; N]) -> bool>(
        &self,
        is_likely: F,
    ) -> impl Iterator<Item = Reference<'a>> + use<'a, N, F> {
        let symbols = self.symbols;
        let [data, calls] = self.relocations;
        let data = data.skip(self.relative_count.saturating_mul(ENTRY));
        let relocations = Relocation::all(data, Machine::HOST).chain(Relocation::all(calls, Machine::HOST));
        relocations.filter(Relocation::is_by_name).filter_map(move |relocation| {
            let symbol = symbols.symbol(relocation.symbol)?;
            // At the end of the string table there may be fewer bytes.
            if symbol.name_start().is_some_and(|start| !is_likely(start)) {
                return None;
            }
            Some(Reference {
                name: symbol.name()?,
                symbol: relocation.symbol,
                offset: relocation.offset,
                addend: relocation.addend,
                is_call: relocation.kind == RelocationKind::JumpSlot,
                is_weak: symbol.is_weak() && !symbol.is_defined(),
            })
        })
    }
}
