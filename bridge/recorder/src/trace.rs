//! What `qmpi run --trace` asks for, and the first line of the file that calls are recorded in (`qmpi_abi::trace`).
//!
//! The line says what the words of the calls mean: whose MPI it is, where the variables are that its handles are the addresses of, and where
//! code is, so that the program's calls have places.
#![expect(unsafe_code, reason = "headers of loaded objects")]

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;

use qmpi_abi::MpiFamily;
use qmpi_abi::trace::{HEAD, VERSION};
use qmpi_system::clock;
use qmpi_system::log::report_error;
use serde_json::{Value, json};

use crate::interface::ProcessFacts;
use crate::log::{self, CallFile};
use crate::mpi;
use crate::system::ticks;

/// What is asked for, and behind it that what is in buffers is recorded as well.
const VARIABLE: &str = "QMPI_TRACE";
const BUFFERS: &str = ",buffers";

/// Whether hashes of buffers were asked for, and the first line of the file as far as it is known at first.
static SETTINGS: OnceLock<(bool, Value)> = OnceLock::new();

/// Where code of an object is, from one address to another, what is added to the object's addresses, and its file.
type CodeRange = (usize, usize, usize, String);

/// Has it been asked for what is in buffers?
pub(crate) fn has_contents() -> bool {
    SETTINGS.get().is_some_and(|(has_contents, _)| *has_contents)
}

/// Begins the file of this rank, if calls are to be recorded.
pub(crate) fn prepare(process: &ProcessFacts, directory: &Path) {
    let Some(value) = std::env::var(VARIABLE).ok().filter(|value| !value.is_empty()) else { return };
    let (calls, has_contents) = value.strip_suffix(BUFFERS).map_or((&*value, false), |calls| (calls, true));
    let (Some((limit, keeps_last)), Some(mpi)) = (log::limit(calls), mpi::get()) else {
        let wanted = format!("it is all, first:N or last:N, and {BUFFERS} may be behind it");
        return report_error(&format!("{VARIABLE}={value}: {wanted}"), None);
    };
    // Of a process that was spawned, another one may have the rank.
    let (rank, id) = (process.rank, std::process::id());
    let (plain, with_id) = (directory.join(format!("trace-{rank}.calls")), format!("trace-{rank}.{id}.calls"));
    let path = if plain.exists() { directory.join(with_id) } else { plain };
    let Ok(name) = CString::new(path.as_os_str().as_bytes()) else { return };
    let line = json!({
        "version": VERSION,
        "rank": rank,
        "size": process.size,
        "process": id,
        "mpi": process.mpi,
        "family": MpiFamily::ALL[mpi.abi as usize].1,
        "calls": calls,
        // Nanoseconds since 1970 and the time-stamp counter, at two moments.
        "clocks": [clocks(), clocks()],
        "objects": mpi.objects,
    });
    SETTINGS.get_or_init(|| (has_contents, line));
    let begun =
        std::fs::create_dir_all(directory).and_then(|()| log::start(CallFile { path: name, calls: limit, keeps_last }));
    if let Err(error) = begun {
        report_error(&format!("{}: no calls are recorded: {error}", path.display()), None);
    }
    complete(&[], false);
}

/// Completes the file's first line: there is another layer, or the process ends.
pub(crate) fn complete(layers: &[String], is_end: bool) {
    let Some(((_, line), file)) = SETTINGS.get().zip(log::file()) else { return };
    let (mut line, mut code) = (line.clone(), code());
    line["layers"] = json!(layers);
    line["clocks"][1] = json!(clocks());
    line["lost"] = json!(is_end.then(log::lost));
    // The line has to fit into the head.
    let text = loop {
        line["code"] = json!(code);
        let text = line.to_string();
        if text.len() + 1 < HEAD || code.pop().is_none() {
            break text;
        }
    };
    if let Err(error) = log::describe(&format!("{text}\n")) {
        report_error(&format!("{}: {error}", file.path.to_string_lossy()), None);
    }
}

/// Nanoseconds since 1970, and the time-stamp counter.
fn clocks() -> (u64, u64) {
    (clock::nanoseconds(libc::CLOCK_REALTIME), ticks())
}

/// Where the code of each object is, what is added to its addresses, and its file, as the kernel says: namespaces make no difference to it.
fn code() -> Vec<CodeRange> {
    /// `e_type` of a program that is loaded where its file says (gABI, ELF Header).
    const AT_FIXED_ADDRESS: u16 = 2;
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let (mut code, mut base) = (Vec::new(), 0);
    for line in maps.lines() {
        // start-end permissions offset device inode path (proc_pid_maps(5))
        let [range, permissions, offset, _, _, path] = line.splitn(6, ' ').collect::<Vec<_>>()[..] else { continue };
        let (path, Some((start, end))) = (path.trim_start(), range.split_once('-')) else { continue };
        let [start, end, offset] = [start, end, offset].map(|text| usize::from_str_radix(text, 16).unwrap_or(0));
        if !path.starts_with('/') {
            continue;
        }
        if offset == 0 && permissions.starts_with('r') {
            // SAFETY: the start of an object's first segment, which is there as long as the object.
            let kind = unsafe { ptr::with_exposed_provenance::<u16>(start + 16).read_unaligned() };
            base = if kind == AT_FIXED_ADDRESS { 0 } else { start };
        }
        if permissions.contains('x') {
            code.push((start, end, base, path.to_owned()));
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_the_test() {
        let here = code_of_the_test as *const () as usize;
        let found = code().into_iter().find(|(start, end, ..)| (*start..*end).contains(&here));
        assert!(found.is_some_and(|(start, _, base, path)| base <= start && path.contains("qmpi_recorder")));
    }
}
