//! The table of another process: a launcher that has MPIR, or `qmpi run --mpir`.
//!
//! The symbols are in its executable (`srun`) or in a library of it (`libopen-rte.so` of Open MPI 4): the first object that defines one
//! counts, as for `ld.so`. What they hold is read by the kernel's `/proc/PID/mem`, which asks for the right to trace the process.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSegment, ObjectSymbol};

use crate::mapping;
use crate::mpir::table::MpirProcess;

/// Bytes of `MPIR_PROCDESC`: two pointers, and a number with what fills it up.
const ROW: u64 = 24;
/// No job has more processes.
const MANY: i32 = 1 << 24;

/// A process with the symbols of MPIR.
#[derive(Debug)]
pub struct MpirTarget {
    memory: File,
    /// Where `MPIR_proctable` is in it.
    table: u64,
    /// Where `MPIR_proctable_size` is.
    size: u64,
}

impl MpirTarget {
    /// Looks for the symbols in a process, and not in files that are known to have none; more of them are added.
    ///
    /// # Errors
    /// A process that is not there, or may not be looked into. `None`: it has no such symbols.
    pub fn open(pid: u32, without: &mut BTreeSet<String>) -> io::Result<Option<MpirTarget>> {
        let memory = File::open(format!("/proc/{pid}/mem"))?;
        let mut files = mapping::of_files(pid)?;
        let executable = std::fs::read_link(format!("/proc/{pid}/exe"))?;
        // Of each file the first mapping stays.
        files.dedup_by(|other, first| other.path == first.path);
        // The executable's copy of a library's variable is the one that counts.
        files.sort_by_key(|file| Path::new(&file.path) != executable);
        let (mut table, mut size) = (None, None);
        for file in files {
            if without.contains(&file.path) {
                continue;
            }
            let [of_table, of_size] = definitions(file.start, &root(pid, &file.path)).unwrap_or_default();
            if of_table.or(of_size).is_none() {
                without.insert(file.path);
            }
            (table, size) = (table.or(of_table), size.or(of_size));
        }
        Ok(table.zip(size).map(|(table, size)| MpirTarget { memory, table, size }))
    }

    /// The processes; none as long as the table is not filled in.
    pub fn processes(&self) -> Vec<MpirProcess> {
        let size = self.read(self.size).map(i32::from_le_bytes).filter(|size| (1..MANY).contains(size)).unwrap_or(0);
        let table = self.read(self.table).map_or(0, u64::from_le_bytes);
        if table == 0 {
            return Vec::new();
        }
        let row = |row: u64| {
            let row = table + row * ROW;
            let text = |place| Some(self.text(u64::from_le_bytes(self.read(row + place)?)));
            Some(MpirProcess { host: text(0)?, pid: u32::from_le_bytes(self.read(row + 16)?), executable: text(8)? })
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
fn root(pid: u32, path: &str) -> PathBuf {
    let inside = PathBuf::from(format!("/proc/{pid}/root{path}"));
    if inside.exists() { inside } else { path.into() }
}

/// The addresses of the table and its size, as far as the file defines them, whose first mapping begins at `start`.
fn definitions(start: u64, path: &Path) -> Option<[Option<u64>; 2]> {
    let bytes = std::fs::read(path).ok().filter(|bytes| bytes.starts_with(b"\x7fELF"))?;
    // Most files have none, and reading their tables takes longer than this.
    if !bytes.windows(14).any(|window| window == b"MPIR_proctable") {
        return None;
    }
    let file = object::File::parse(bytes.as_slice()).ok()?;
    // The first mapping is the page with the lowest address of a segment.
    let base = start.wrapping_sub(file.segments().map(|segment| segment.address()).min()? & !0xfff);
    let defined = || file.dynamic_symbols().chain(file.symbols()).filter(|symbol| symbol.is_definition());
    let address = |name| Some(base.wrapping_add(defined().find(|symbol| symbol.name() == Ok(name))?.address()));
    Some(["MPIR_proctable", "MPIR_proctable_size"].map(address))
}

/// The table of a launcher, which may be empty yet; `None` if it has none.
pub fn processes_of_launcher(pid: u32) -> Option<Vec<MpirProcess>> {
    Some(MpirTarget::open(pid, &mut BTreeSet::new()).ok()??.processes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_symbols_are_found() {
        crate::mpir::symbols::publish(&[&MpirProcess { host: "h".into(), pid: 7, executable: "/x".into() }]);
        let target = MpirTarget::open(std::process::id(), &mut BTreeSet::new()).unwrap().expect("symbols");
        assert_eq!(target.processes(), [MpirProcess { host: "h".into(), pid: 7, executable: "/x".into() }]);
    }
}
