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

/// A version that an object defines; its name is measured when it is asked for.
#[derive(Debug, Clone, Copy)]
pub struct VersionDefinition<'a> {
    /// Its number in the object.
    pub number: u16,
    /// Names the library itself: no version of a symbol.
    pub is_base: bool,
    name: Text<'a>,
}

/// A version that an object needs; its names are measured when they are asked for.
#[derive(Debug, Clone, Copy)]
pub struct Need<'a> {
    /// Its number in the object.
    pub number: u16,
    /// ld.so says nothing if it is not there.
    pub is_weak: bool,
    file: Text<'a>,
    name: Text<'a>,
}

/// A place in a string table.
#[derive(Debug, Clone, Copy)]
struct Text<'a> {
    offset: usize,
    strings: Bytes<'a>,
}

impl<'a> VersionDefinition<'a> {
    /// As in `GLIBC_2.34`; `None` if it is not inside of the string table.
    pub fn name(&self) -> Option<&'a CStr> {
        self.name.strings.string(self.name.offset)
    }

    /// Is this its name?
    pub fn is_named(&self, name: &[u8]) -> bool {
        self.name.strings.is_string(self.name.offset, name)
    }
}

impl<'a> Need<'a> {
    /// As in `GLIBC_2.34`; `None` if it is not inside of the string table.
    pub fn name(&self) -> Option<&'a CStr> {
        self.name.strings.string(self.name.offset)
    }

    /// The SONAME of the library that has to define it; `None` if it is not inside of the string table.
    pub fn file(&self) -> Option<&'a CStr> {
        self.file.strings.string(self.file.offset)
    }
}

/// A walk over DT_VERDEF.
#[derive(Debug, Clone)]
pub struct VersionDefinitions<'a> {
    table: Bytes<'a>,
    strings: Bytes<'a>,
    walk: VersionWalk,
}

/// A walk over DT_VERNEED.
#[derive(Debug, Clone)]
pub struct Needs<'a> {
    table: Bytes<'a>,
    strings: Bytes<'a>,
    /// Over the libraries.
    files: VersionWalk,
    /// Over the versions of one library.
    versions: VersionWalk,
    file: usize,
}

/// A chain of entries, of which each says how far the next one is.
#[derive(Debug, Clone)]
struct VersionWalk {
    next: Option<usize>,
    /// How many entries there may still be.
    room: usize,
    fault: Option<&'static str>,
}

const OUTSIDE: &str = "an entry lies outside of the table";
const OVERLAP: &str = "more entries than the table has room for";

impl VersionWalk {
    fn new(table: Bytes<'_>) -> VersionWalk {
        let room = (table.len() / SHORTEST).min(MOST);
        VersionWalk { next: (!table.is_empty()).then_some(0), room, fault: None }
    }

    /// The place of the next entry.
    fn step(&mut self) -> Option<usize> {
        let at = self.next.take()?;
        match self.room.checked_sub(1) {
            Some(room) => self.room = room,
            None => return self.fail(OVERLAP),
        }
        Some(at)
    }

    /// The one after that is so far behind it; 0: there is none.
    fn go_on(&mut self, at: usize, distance: u32) {
        self.next = if distance == 0 { None } else { at.checked_add(distance as usize) };
    }

    fn fail<T>(&mut self, fault: &'static str) -> Option<T> {
        self.next = None;
        self.fault = self.fault.or(Some(fault));
        None
    }
}

impl<'a> VersionDefinitions<'a> {
    pub(crate) fn new(table: Bytes<'a>, strings: Bytes<'a>) -> VersionDefinitions<'a> {
        VersionDefinitions { table, strings, walk: VersionWalk::new(table) }
    }

    /// Why the walk ended before the last entry, if it did.
    pub fn fault(&self) -> Option<&'static str> {
        self.walk.fault
    }
}

impl<'a> Iterator for VersionDefinitions<'a> {
    type Item = VersionDefinition<'a>;

    /// `Elf64_Verdef`: vd_version, vd_flags, vd_ndx, vd_cnt: u16; vd_hash, vd_aux, vd_next: u32. Its first
    /// `Elf64_Verdaux` (vda_name, vda_next: u32) is the name; further ones are its parents.
    fn next(&mut self) -> Option<VersionDefinition<'a>> {
        let at = self.walk.step()?;
        let entry = self.table.skip(at);
        let read = || {
            let [_, flags, number, _] = entry.read::<[u16; 4]>(0)?;
            let [_, aux, next] = entry.read::<[u32; 3]>(8)?;
            let offset = entry.read::<u32>(aux as usize)? as usize;
            let name = Text { offset, strings: self.strings };
            Some((VersionDefinition { number: Index(number).number(), is_base: flags & BASE != 0, name }, next))
        };
        let Some((definition, next)) = read() else { return self.walk.fail(OUTSIDE) };
        self.walk.go_on(at, next);
        Some(definition)
    }
}

impl<'a> Needs<'a> {
    pub(crate) fn new(table: Bytes<'a>, strings: Bytes<'a>) -> Needs<'a> {
        let files = VersionWalk::new(table);
        let versions = VersionWalk { next: None, ..files.clone() };
        Needs { table, strings, files, versions, file: 0 }
    }

    /// Why the walk ended before the last entry, if it did.
    pub fn fault(&self) -> Option<&'static str> {
        self.files.fault.or(self.versions.fault)
    }

    /// `Elf64_Verneed`: vn_version, vn_cnt: u16; vn_file, vn_aux, vn_next: u32.
    fn next_file(&mut self) -> Option<()> {
        let at = self.files.step()?;
        let entry = self.table.skip(at);
        let Some([file, aux, next]) = entry.read::<[u32; 3]>(4) else {
            return self.files.fail(OUTSIDE);
        };
        self.file = file as usize;
        // The room goes on over all libraries: entries that several of them share would else be walked again and again.
        self.versions.next = at.checked_add(aux as usize);
        self.files.go_on(at, next);
        Some(())
    }

    /// `Elf64_Vernaux`: vna_hash: u32; vna_flags, vna_other: u16; vna_name, vna_next: u32.
    fn next_version(&mut self) -> Option<Need<'a>> {
        const WEAK: u16 = 2;
        let at = self.versions.step()?;
        let entry = self.table.skip(at);
        let read = || {
            let [flags, number] = entry.read::<[u16; 2]>(4)?;
            let [name, next] = entry.read::<[u32; 2]>(8)?;
            let text = |offset| Text { offset, strings: self.strings };
            let (file, name) = (text(self.file), text(name as usize));
            Some((Need { number: Index(number).number(), is_weak: flags & WEAK != 0, file, name }, next))
        };
        let Some((need, next)) = read() else { return self.versions.fail(OUTSIDE) };
        self.versions.go_on(at, next);
        Some(need)
    }
}

impl<'a> Iterator for Needs<'a> {
    type Item = Need<'a>;

    fn next(&mut self) -> Option<Need<'a>> {
        loop {
            if let Some(need) = self.next_version() {
                return Some(need);
            }
            if self.fault().is_some() {
                return None;
            }
            self.next_file()?;
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
        let mut walk = VersionDefinitions::new(Bytes::from(&table[..]), Bytes::from(STRINGS));
        let first = walk.next().unwrap();
        assert_eq!((first.number, first.name(), first.is_base), (2, Some(c"V1"), false));
        assert!(walk.by_ref().count() <= table.len() / SHORTEST);
        let cut = table[..19].to_vec();
        let mut walk = VersionDefinitions::new(Bytes::from(&cut[..]), Bytes::from(STRINGS));
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
        let mut walk = Needs::new(Bytes::from(&table[..]), Bytes::from(STRINGS));
        let first = walk.next().unwrap();
        assert_eq!((first.number, first.file(), first.name()), (2, Some(c"libx.so"), Some(c"V1")));
        assert_eq!(1 + walk.by_ref().count(), table.len() / SHORTEST);
        assert_eq!(walk.fault(), Some(OVERLAP));
    }
}
