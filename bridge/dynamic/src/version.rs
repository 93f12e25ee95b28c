//! Versions of symbols: those that an object defines, those that it needs, and which one a symbol has.
//!
//! Read as in the LSB, "Symbol Versioning", and glibc `elf/dl-version.c`: chains of entries, each with the distance to the
//! next one. The counts (DT_VERDEFNUM, `vn_cnt`, ...) are not used, as ld.so does not use them; what ends a walk is the last
//! entry, or the end of the table.

use core::ffi::CStr;

use crate::bytes::Bytes;

/// `VERSYM_HIDDEN`: not the default version of its name (`name@VERSION` rather than `name@@VERSION`).
const HIDDEN: u16 = 0x8000;
/// `VER_FLG_BASE`: the definition that names the library itself.
const BASE: u16 = 1;
/// Size of an `Elf64_Vernaux`, and no entry is shorter.
const SHORTEST: usize = 16;
/// A version number has 15 bits, so no object has more.
const MOST: usize = 0x8000;

/// The entry of a symbol in DT_VERSYM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Index(pub u16);

impl Index {
    /// The number of a definition or of a need. 0: the symbol is local; 1: it has no version.
    pub const fn number(self) -> u16 {
        self.0 & !HIDDEN
    }

    /// A reference without a version does not get this symbol.
    pub const fn is_hidden(self) -> bool {
        self.0 & HIDDEN != 0
    }
}

/// A version that an object defines or needs; its names are measured when they are asked for.
#[derive(Debug, Clone, Copy)]
pub struct Version<'a> {
    /// Its number in the object.
    pub number: u16,
    /// Names the library itself: no version of a symbol.
    pub is_base: bool,
    name: u32,
    file: u32,
    strings: Bytes<'a>,
}

impl<'a> Version<'a> {
    /// As in `GLIBC_2.34`; `None` if it is not inside of the string table.
    pub fn name(&self) -> Option<&'a CStr> {
        self.strings.string(self.name as usize)
    }

    /// Is this its name?
    pub fn is_named(&self, name: &[u8]) -> bool {
        self.strings.is_string(self.name as usize, name)
    }

    /// Of a version that is needed: the SONAME of the library that has to define it; `None` if it is not inside of the string table.
    pub fn file(&self) -> Option<&'a CStr> {
        self.strings.string(self.file as usize)
    }
}

/// A walk over DT_VERDEF or DT_VERNEED: chains of entries, of which each says how far the next one is.
#[derive(Debug, Clone)]
pub struct Versions<'a> {
    table: Bytes<'a>,
    strings: Bytes<'a>,
    are_needs: bool,
    /// Where the next definition is, or the next library whose versions are needed.
    next: Option<usize>,
    /// Where the next version of this library is.
    next_of_file: Option<usize>,
    file: u32,
    /// How many entries there may still be.
    room: usize,
    fault: Option<&'static str>,
}

const OUTSIDE: &str = "an entry lies outside of the table";
const OVERLAP: &str = "more entries than the table has room for";

impl<'a> Versions<'a> {
    pub(crate) fn new(table: Bytes<'a>, strings: Bytes<'a>, are_needs: bool) -> Versions<'a> {
        // The room is for all entries together: some that several libraries share would else be walked again and again.
        let room = (table.len() / SHORTEST).min(MOST);
        let next = (!table.is_empty()).then_some(0);
        Versions { table, strings, are_needs, next, next_of_file: None, file: 0, room, fault: None }
    }

    /// Why the walk ended before the last entry, if it did.
    pub fn fault(&self) -> Option<&'static str> {
        self.fault
    }

    fn fail(&mut self, fault: &'static str) -> Option<Version<'a>> {
        (self.next, self.fault) = (None, Some(fault));
        None
    }

    /// Reads the entry at this place and goes on behind it. `Some(None)`: it is a library, whose versions come next.
    fn entry(&mut self, at: usize, is_of_file: bool) -> Option<Option<Version<'a>>> {
        let entry = self.table.skip(at);
        let (number, is_base, name) = if is_of_file {
            // `Elf64_Vernaux`: vna_hash: u32; vna_flags, vna_other: u16; vna_name, vna_next: u32.
            let [_, number] = entry.read::<[u16; 2]>(4)?;
            let [name, next] = entry.read::<[u32; 2]>(8)?;
            self.next_of_file = behind(at, next);
            (number, false, name)
        } else if self.are_needs {
            // `Elf64_Verneed`: vn_version, vn_cnt: u16; vn_file, vn_aux, vn_next: u32.
            let [file, first, next] = entry.read::<[u32; 3]>(4)?;
            (self.file, self.next_of_file, self.next) = (file, at.checked_add(first as usize), behind(at, next));
            return Some(None);
        } else {
            // `Elf64_Verdef`: vd_version, vd_flags, vd_ndx, vd_cnt: u16; vd_hash, vd_aux, vd_next: u32. Its first `Elf64_Verdaux` (vda_name,
            // vda_next: u32) is the name; further ones are its parents.
            let [_, flags, number, _] = entry.read::<[u16; 4]>(0)?;
            let [_, first, next] = entry.read::<[u32; 3]>(8)?;
            self.next = behind(at, next);
            (number, flags & BASE != 0, entry.read(first as usize)?)
        };
        let number = Index(number).number();
        Some(Some(Version { number, is_base, name, file: self.file, strings: self.strings }))
    }
}

/// The place that is so far behind another; 0: there is none.
fn behind(at: usize, distance: u32) -> Option<usize> {
    if distance == 0 { None } else { at.checked_add(distance as usize) }
}

impl<'a> Iterator for Versions<'a> {
    type Item = Version<'a>;

    fn next(&mut self) -> Option<Version<'a>> {
        loop {
            let of_file = self.next_of_file.take();
            let at = of_file.or_else(|| self.next.take())?;
            let Some(room) = self.room.checked_sub(1) else { return self.fail(OVERLAP) };
            self.room = room;
            match self.entry(at, of_file.is_some()) {
                // A library: its versions come next.
                Some(None) => {}
                Some(version) => return version,
                None => return self.fail(OUTSIDE),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    const STRINGS: &[u8] = b"\0libx.so\0V1\0V2\0";

    #[test]
    fn definitions_that_lead_on_for_ever_end_with_the_table() {
        // One definition whose next one is a byte behind it: each is a definition, up to the end.
        let mut table = bytes(&[1, 2, 0, 20, 1, 9, 0]);
        table.resize(400, 0);
        let mut walk = Versions::new(Bytes::from(&table[..]), Bytes::from(STRINGS), false);
        let first = walk.next().unwrap();
        assert_eq!((first.number, first.name(), first.is_base), (2, Some(c"V1"), false));
        assert!(walk.by_ref().count() <= table.len() / SHORTEST);
        let cut = table[..19].to_vec();
        let mut walk = Versions::new(Bytes::from(&cut[..]), Bytes::from(STRINGS), false);
        assert!(walk.next().is_none() && walk.fault() == Some(OUTSIDE));
    }

    #[test]
    fn needs_that_share_versions_are_walked_once_for_each_entry_of_the_table() {
        // Ten libraries, all with the same chain of ten versions.
        let mut words = Vec::new();
        for library in 0..10_u32 {
            words.extend([1, 1, (10 - library) * 16, if library < 9 { 16 } else { 0 }]);
        }
        for version in 0..10_u32 {
            words.extend([0, (version + 2) << 16, 9, if version < 9 { 16 } else { 0 }]);
        }
        let table = bytes(&words);
        let mut walk = Versions::new(Bytes::from(&table[..]), Bytes::from(STRINGS), true);
        let first = walk.next().unwrap();
        assert_eq!((first.number, first.file(), first.name()), (2, Some(c"libx.so"), Some(c"V1")));
        assert!(1 + walk.by_ref().count() < table.len() / SHORTEST);
        assert_eq!(walk.fault(), Some(OVERLAP));
    }
}
