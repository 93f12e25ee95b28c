//! The symbol versions that a loaded object defines (`.gnu.version` and `.gnu.version_d`).
#![expect(unsafe_code, reason = "reads the tables of loaded objects through raw pointers")]

use std::ffi::{CStr, c_char};

/// `Elf64_Verdef`; the libc crate lacks it.
#[repr(C)]
struct Verdef {
    version: u16,
    flags: u16,
    index: u16,
    count: u16,
    hash: u32,
    aux: u32,
    next: u32,
}

/// The definition that names the library itself.
const VER_FLG_BASE: u16 = 1;

/// The versions of one object.
#[derive(Debug, Clone)]
pub struct Versions {
    versym: *const u16,
    /// By number.
    names: Vec<(u16, &'static CStr)>,
}

/// The version of a symbol.
#[derive(Debug, Clone, Copy)]
pub struct SymbolVersion {
    /// Its name, such as `GLIBC_2.2.5`.
    pub name: &'static CStr,
    /// Its place among [`Versions::names`].
    pub place: usize,
    /// `name@@version`: what a reference without a version gets.
    pub default: bool,
}

impl Versions {
    /// Reads `count` definitions at `verdef`; names are in `strtab`.
    pub(crate) fn at(versym: usize, verdef: usize, count: usize, strtab: *const c_char) -> Versions {
        let mut names = Vec::with_capacity(count);
        let mut at = verdef;
        for _ in 0..count {
            // SAFETY: DT_VERDEFNUM counts the definitions of a loaded object.
            let definition = unsafe { &*(at as *const Verdef) };
            if definition.flags & VER_FLG_BASE == 0 {
                // SAFETY: the first auxiliary entry starts with the offset of the version's name.
                let offset = unsafe { *((at + definition.aux as usize) as *const u32) };
                // SAFETY: it lies in the string table.
                let name = unsafe { CStr::from_ptr(strtab.wrapping_add(offset as usize)) };
                names.push((definition.index & 0x7fff, name));
            }
            at += definition.next as usize;
        }
        names.sort_unstable_by_key(|(number, _)| *number);
        Versions { versym: versym as *const u16, names }
    }

    /// The versions in the order of their numbers.
    pub fn names(&self) -> impl Iterator<Item = &'static CStr> + '_ {
        self.names.iter().map(|(_, name)| *name)
    }

    /// The version of symbol number `index` of the same object.
    pub fn of(&self, index: usize) -> Option<SymbolVersion> {
        // SAFETY: `.gnu.version` has an entry for each symbol.
        let number = unsafe { *self.versym.wrapping_add(index) };
        let place = self.names.binary_search_by_key(&(number & 0x7fff), |(number, _)| *number).ok()?;
        Some(SymbolVersion { name: self.names[place].1, place, default: number & 0x8000 == 0 })
    }
}
