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
    /// The number of the object that has a thread-local variable.
    Module,
    /// Where a thread-local variable is among those of its object.
    ModuleOffset,
    /// Where a thread-local variable is from the thread pointer.
    ThreadOffset,
    /// A descriptor of a thread-local variable, two words.
    Descriptor,
    /// Anything else.
    Other,
}

impl RelocationKind {
    /// What a relocation of this type stores: x86-64 psABI, table 4.9; ELF for the Arm 64-bit Architecture, 5.7.
    #[inline]
    const fn of(number: u32, machine: Machine) -> RelocationKind {
        match (machine, number) {
            // R_X86_64_64, R_AARCH64_ABS64.
            (Machine::X86_64, 1) | (Machine::Aarch64, 257) => RelocationKind::Absolute,
            (Machine::X86_64, 6) | (Machine::Aarch64, 1025) => RelocationKind::GlobDat,
            (Machine::X86_64, 7) | (Machine::Aarch64, 1026) => RelocationKind::JumpSlot,
            // R_X86_64_DTPMOD64, DTPOFF64, TPOFF64 and TLSDESC; R_AARCH64_TLS_DTPMOD, TLS_DTPREL, TLS_TPREL and TLSDESC.
            (Machine::X86_64, 16) | (Machine::Aarch64, 1028) => RelocationKind::Module,
            (Machine::X86_64, 17) | (Machine::Aarch64, 1029) => RelocationKind::ModuleOffset,
            (Machine::X86_64, 18) | (Machine::Aarch64, 1030) => RelocationKind::ThreadOffset,
            (Machine::X86_64, 36) | (Machine::Aarch64, 1031) => RelocationKind::Descriptor,
            _ => RelocationKind::Other,
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
        use RelocationKind::{Absolute, GlobDat, JumpSlot};
        self.symbol != 0 && matches!(self.kind, Absolute | GlobDat | JumpSlot)
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

    /// The words that hold the address of a symbol whose name begins with bytes that `is_likely` likes: the GOT, and pointers in data.
    /// Measuring a name takes longer than all else, and an object refers to hundreds.
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
