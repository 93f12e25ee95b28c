//! The table of another process: a launcher that has MPIR, or `qmpi run --mpir`.
//!
//! The symbols are in its executable (`srun`) or in a library of it (`libopen-rte.so` of Open MPI 4): the first object that defines one
//! counts, as for `ld.so`. What they hold is read by the kernel's `/proc/PID/mem`, which asks for the right to trace the process.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSegment, ObjectSymbol};

use crate::mapping::{self, Mapping};
use crate::mpir::table::MpirProcess;

/// Bytes of `MPIR_PROCDESC`: two pointers, and a number with what fills it up.
const ROW: usize = 24;
/// No job has more processes.
const MANY: i32 = 1 << 24;

/// A process with the symbols of MPIR.
#[derive(Debug)]
pub struct MpirTarget {
    memory: File,
    /// Where each symbol is in it.
    symbols: BTreeMap<String, u64>,
}

impl MpirTarget {
    /// Looks for the symbols in a process.
    ///
    /// # Errors
    /// A process that is not there, or may not be looked into. `None`: it has no such symbols.
    pub fn open(pid: u32) -> io::Result<Option<MpirTarget>> {
        MpirTarget::open_unless(pid, &mut BTreeSet::new())
    }

    /// The same, without a look at files that are known to have none; more of them are added.
    ///
    /// # Errors
    /// As [`MpirTarget::open`].
    pub fn open_unless(pid: u32, without: &mut BTreeSet<PathBuf>) -> io::Result<Option<MpirTarget>> {
        let memory = File::open(format!("/proc/{pid}/mem"))?;
        let mappings = mapping::of_files(pid)?;
        let executable = std::fs::read_link(format!("/proc/{pid}/exe"))?;
        let mut paths: Vec<&Path> = mappings.iter().map(|mapping| Path::new(&mapping.path)).collect();
        paths.dedup();
        // The executable's copy of a library's variable is the one that counts.
        paths.sort_by_key(|path| *path != executable);
        let mut symbols = BTreeMap::new();
        for path in paths {
            if without.contains(path) {
                continue;
            }
            let maps: Vec<&Mapping> = mappings.iter().filter(|mapping| Path::new(&mapping.path) == path).collect();
            let defined = definitions(&maps, &root(pid, path)).unwrap_or_default();
            if defined.is_empty() {
                without.insert(path.to_owned());
            }
            for (name, address) in defined {
                symbols.entry(name).or_insert(address);
            }
        }
        let has_table = symbols.contains_key("MPIR_proctable") && symbols.contains_key("MPIR_proctable_size");
        Ok(has_table.then_some(MpirTarget { memory, symbols }))
    }

    /// The names of the symbols that are there.
    pub fn symbols(&self) -> impl Iterator<Item = &str> {
        self.symbols.keys().map(String::as_str)
    }

    /// A number.
    pub fn number(&self, name: &str) -> Option<i32> {
        self.read(*self.symbols.get(name)?).map(i32::from_le_bytes)
    }

    /// The processes; none as long as the table is not filled in.
    pub fn processes(&self) -> Vec<MpirProcess> {
        let size = self.number("MPIR_proctable_size").filter(|size| (1..MANY).contains(size)).unwrap_or(0);
        let table =
            self.symbols.get("MPIR_proctable").and_then(|place| self.read(*place)).map_or(0, u64::from_le_bytes);
        if table == 0 {
            return Vec::new();
        }
        let row = |row: u64| {
            let words: [u8; ROW] = self.read(table + row * ROW as u64)?;
            let word = |place: usize| words.get(place..place + 8)?.try_into().ok().map(u64::from_le_bytes);
            let pid = i32::try_from(word(16)? & u64::from(u32::MAX)).ok()?;
            Some(MpirProcess { host: self.text(word(0)?), executable: self.text(word(8)?), pid })
        };
        // Rows that are not filled in yet have no number.
        (0..size.unsigned_abs().into()).map_while(row).filter(|process| process.pid > 0).collect()
    }

    fn read<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.memory.read_exact_at(&mut bytes, address).ok()?;
        Some(bytes)
    }

    fn text(&self, mut address: u64) -> String {
        let mut text = Vec::new();
        while address != 0
            && text.len() < 4096
            && let Some([byte @ 1..=255]) = self.read(address)
        {
            text.push(byte);
            address += 1;
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// A file as the process sees it, which may be in a container.
fn root(pid: u32, path: &Path) -> PathBuf {
    let inside = PathBuf::from(format!("/proc/{pid}/root{}", path.display()));
    if inside.exists() { inside } else { path.to_owned() }
}

/// The addresses of MPIR's symbols that the file defines, as it is mapped there.
fn definitions(maps: &[&Mapping], path: &Path) -> Option<Vec<(String, u64)>> {
    let bytes = std::fs::read(path).ok().filter(|bytes| bytes.starts_with(b"\x7fELF"))?;
    // Most files have none, and reading their tables takes longer than this.
    if !bytes.windows(5).any(|window| window == b"MPIR_") {
        return None;
    }
    let file = object::File::parse(bytes.as_slice()).ok()?;
    let first = maps.iter().min_by_key(|mapping| mapping.start)?;
    let of_file = |segment: &object::Segment<'_, '_>| {
        let (offset, size) = segment.file_range();
        (offset..offset + size.max(1)).contains(&first.offset) || offset & !0xfff == first.offset
    };
    let segment = file.segments().find(of_file)?;
    let base = first
        .start
        .wrapping_sub(segment.address() & !0xfff)
        .wrapping_sub(first.offset)
        .wrapping_add(segment.file_range().0 & !0xfff);
    let symbols = file.dynamic_symbols().chain(file.symbols()).filter(|symbol| symbol.is_definition());
    let of_mpir = symbols.filter_map(|symbol| Some((symbol.name().ok()?.to_owned(), symbol.address())));
    let named = of_mpir.filter(|(name, _)| name.starts_with("MPIR_") && !name.contains('@'));
    Some(named.map(|(name, address)| (name, base.wrapping_add(address))).collect())
}

/// The table of a launcher, which may be empty yet; `None` if it has none.
pub fn processes_of_launcher(pid: u32) -> Option<Vec<MpirProcess>> {
    Some(MpirTarget::open(pid).ok()??.processes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_symbols_are_found() {
        crate::mpir::symbols::publish(&[&MpirProcess { host: "h".into(), executable: "/x".into(), pid: 7 }]);
        let target = MpirTarget::open(std::process::id()).unwrap().expect("symbols");
        assert_eq!(target.processes(), [MpirProcess { host: "h".into(), executable: "/x".into(), pid: 7 }]);
        assert_eq!(target.number("MPIR_debug_state"), Some(1));
        assert_eq!(target.number("MPIR_nothing"), None);
    }
}
