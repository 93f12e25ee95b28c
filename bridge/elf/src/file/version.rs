//! Symbol versions: the names that a file defines and needs, and the version of each symbol.
//!
//! Made of the walks of [`qmpi_dynamic::version`], once for a file: thousands of symbols refer to a few versions.

use std::ffi::CStr;

use qmpi_dynamic::version::Index;
use qmpi_dynamic::{Table, Tables};

use crate::error::Error;
use crate::file::image::OpenFile;

/// The version of one symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Version<'a> {
    /// As in `GLIBC_2.34`.
    pub name: &'a str,
    /// For a definition: whether an unversioned reference gets this one (`@@`). Never for an import.
    pub default: bool,
    /// For an import: the SONAME that the version was bound to when the file was linked.
    pub file: Option<&'a str>,
}

/// A version by its number.
#[derive(Debug, Clone, Default)]
struct NumberedVersion {
    name: String,
    /// Empty for a definition.
    file: String,
}

/// Every version of a file, by number.
#[derive(Debug, Default)]
pub(crate) struct VersionTable {
    entries: Vec<NumberedVersion>,
    /// (file, version), in the order of the file.
    pub(crate) needs: Vec<(String, String)>,
    pub(crate) definitions: Vec<String>,
}

impl VersionTable {
    /// `limit` is how many bytes all names may have.
    pub(crate) fn read(image: &OpenFile, tables: &Tables<'_>, limit: usize) -> Result<VersionTable, Error> {
        let mut table = VersionTable::default();
        let mut left = limit;
        let mut text = |kind: Table, name: Option<&CStr>| {
            // A name outside of the table is that of no version.
            let name = name.and_then(|name| name.to_str().ok()).unwrap_or_default();
            left = left.checked_sub(name.len()).ok_or_else(|| image.malformed(kind.name(), OVERLAP))?;
            Ok::<_, Error>(name.to_owned())
        };
        for definition in tables.version_definitions().filter(|definition| !definition.is_base) {
            let name = text(Table::VersionDefinitions, definition.name())?;
            table.definitions.push(name.clone());
            table.insert(definition.number, NumberedVersion { name, file: String::new() });
        }
        let mut needs = tables.version_needs();
        for need in needs.by_ref() {
            let (file, name) = (text(Table::VersionNeeds, need.file())?, text(Table::VersionNeeds, need.name())?);
            table.needs.push((file.clone(), name.clone()));
            table.insert(need.number, NumberedVersion { name, file });
        }
        if needs.fault().is_some() {
            // ld.so reads on outside of the table, which is zeros if the process survives it: nothing is needed of the program,
            // whose name is empty.
            table.needs.push((String::new(), String::new()));
        }
        Ok(table)
    }

    fn insert(&mut self, number: u16, entry: NumberedVersion) {
        let number = usize::from(number);
        if number >= self.entries.len() {
            self.entries.resize(number + 1, NumberedVersion::default());
        }
        self.entries[number] = entry;
    }

    /// The version of a symbol with this index; `None`: it has none, or the file has no versions.
    ///
    /// Index 0 is none, too: GNU ld gives it to undefined symbols that it bound to nothing with a version, and ld.so finds a definition
    /// that has it (`elf/dl-lookup.c: check_match`).
    pub(crate) fn of(&self, index: Option<Index>) -> Option<Version<'_>> {
        let index = index?;
        let entry = self.entries.get(usize::from(index.number())).filter(|entry| !entry.name.is_empty())?;
        let file = Some(entry.file.as_str()).filter(|file| !file.is_empty());
        let default = file.is_none() && !index.is_hidden();
        Some(Version { name: &entry.name, default, file })
    }
}

/// What is wrong with a file whose names are longer than the file together: each is a part of another.
pub(crate) const OVERLAP: &str = "its names overlap: they are longer than the file";
