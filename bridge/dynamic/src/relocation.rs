//! Relocations: the words of an object that `ld.so` fills in with addresses.

use core::ffi::CStr;

use crate::bytes::Bytes;
use crate::machine::Machine;
use crate::tables::Tables;

/// Size of an `Elf64_Rela`: r_offset, r_info: u64; r_addend: i64.
const ENTRY: usize = 24;

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
        if number == known.absolute {
            RelocationKind::Absolute
        } else if number == known.glob_dat {
            RelocationKind::GlobDat
        } else if number == known.jump_slot {
            RelocationKind::JumpSlot
        } else {
            RelocationKind::Other(number)
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
    /// Relocation number `index` of a table.
    #[inline]
    fn at(table: Bytes<'_>, index: usize, machine: Machine) -> Option<Relocation> {
        let at = index.checked_mul(ENTRY)?;
        let [offset, info] = table.read::<[u64; 2]>(at)?;
        Some(Relocation {
            offset,
            kind: RelocationKind::of(info as u32, machine),
            symbol: (info >> 32) as usize,
            addend: table.read::<i64>(at.checked_add(16)?)?,
        })
    }

    /// Does it store the address of a symbol that it names?
    #[inline]
    pub fn is_by_name(&self) -> bool {
        self.symbol != 0 && !matches!(self.kind, RelocationKind::Other(_))
    }

    /// All of a table of relocations, as DT_JMPREL points to one, in a file for this machine.
    pub fn all(table: Bytes<'_>) -> impl Iterator<Item = Relocation> + use<'_> {
        Relocation::all_of(table, Machine::HOST)
    }

    /// The same in a file for any machine.
    pub fn all_of(table: Bytes<'_>, machine: Machine) -> impl Iterator<Item = Relocation> + use<'_> {
        Relocation::from(table, 0, machine)
    }

    /// Those from number `first` on, which may lie behind the last.
    fn from(table: Bytes<'_>, first: usize, machine: Machine) -> impl Iterator<Item = Relocation> + use<'_> {
        (first.min(table.len() / ENTRY)..).map_while(move |index| Relocation::at(table, index, machine))
    }
}

/// A word of an object that holds the address of a symbol by name.
#[derive(Debug, Clone, Copy)]
pub struct Binding<'a> {
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
        let [data, calls] = self.relocation_tables();
        Relocation::all(data).chain(Relocation::all(calls))
    }

    /// The words that hold the address of a symbol by name: the GOT, and pointers in data.
    pub fn bindings(&self) -> impl Iterator<Item = Binding<'a>> + use<'a> {
        self.bindings_like(|_: [u8; 1]| true)
    }

    /// Those of them whose names begin with bytes that `is_likely` likes: measuring a name takes longer than all else, and an object
    /// refers to hundreds.
    pub fn bindings_like<const N: usize, F: Fn([u8; N]) -> bool>(
        &self,
        is_likely: F,
    ) -> impl Iterator<Item = Binding<'a>> + use<'a, N, F> {
        let symbols = self.symbol_table();
        let [data, calls] = self.relocation_tables();
        let relocations = Relocation::from(data, self.relative_count(), Machine::HOST).chain(Relocation::all(calls));
        relocations.filter(Relocation::is_by_name).filter_map(move |relocation| {
            let symbol = symbols.symbol(relocation.symbol)?;
            // At the end of the string table there may be fewer bytes.
            if symbol.name_start().is_some_and(|start| !is_likely(start)) {
                return None;
            }
            Some(Binding {
                name: symbol.name()?,
                symbol: relocation.symbol,
                offset: relocation.offset,
                addend: relocation.addend,
                is_call: relocation.kind == RelocationKind::JumpSlot,
                is_weak: symbol.is_weak() && !symbol.is_defined(),
            })
        })
    }

    /// The addresses of the words to which DT_RELR adds the object's base (gABI, "Relative relocations").
    ///
    /// An even entry is an address; an odd one is a map of the 63 words behind the last.
    pub fn relative_words(&self) -> impl Iterator<Item = u64> + use<'a> {
        const WORD: u64 = 8;
        let table = self.relative_relocations();
        let (mut index, mut next, mut start, mut map) = (0_usize, 0_u64, 0_u64, 0_u64);
        core::iter::from_fn(move || {
            loop {
                if map != 0 {
                    let bit = u64::from(map.trailing_zeros());
                    map &= map.wrapping_sub(1);
                    return Some(start.wrapping_add(bit.wrapping_mul(WORD)));
                }
                let entry = table.entry::<u64>(index)?;
                index = index.checked_add(1)?;
                if entry & 1 == 0 {
                    next = entry.wrapping_add(WORD);
                    return Some(entry);
                }
                (start, map) = (next, entry >> 1);
                next = next.wrapping_add(WORD.wrapping_mul(63));
            }
        })
    }
}
