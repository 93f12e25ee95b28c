//! Memory of threads in a file that is mapped (`qmpi_abi::counters`): what a process has counted is there if it is killed.
//!
//! The processes of a host share the file, to which each appends its regions. It is removed when all of them have written their records. Where
//! it cannot be made or mapped, the memory is as any other.
#![expect(unsafe_code, reason = "maps memory")]

use std::ffi::CString;
use std::fs::File;
use std::io::{self, IoSlice, Seek, Write};
use std::mem::offset_of;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use qmpi_abi::counters::{GRAIN, HEAD, MAGIC, PLACES, Region, TABLE, THREAD};
use qmpi_system::file_limit;

use crate::system;

/// Bytes of a region at most: places beyond are in memory only.
const LARGEST: usize = 16 * GRAIN;

struct CounterFile {
    path: CString,
    process: u64,
    started: u64,
    /// Bytes of the region of a thread.
    size: usize,
    /// Where the head is mapped; null in the child of a `fork`.
    head: AtomicPtr<u8>,
}

static FILE: OnceLock<CounterFile> = OnceLock::new();

/// Counts in the file at `path` from the next thread on, of which the first `bytes` are of interest; the process has `started` so many milliseconds
/// after 1970.
pub(crate) fn share(path: &Path, started: u64, bytes: usize) {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return };
    if file_limit::most() != libc::RLIM_INFINITY {
        return;
    }
    let size = bytes.next_multiple_of(GRAIN).min(LARGEST);
    let memory = system::map_memory(GRAIN);
    let file = CounterFile { path, process: std::process::id().into(), started, size, head: AtomicPtr::new(memory) };
    if !memory.is_null() && file.map_over(memory, GRAIN, HEAD) {
        drop(FILE.set(file));
    }
}

/// The file and the head, if there are any.
fn head() -> Option<(&'static CounterFile, *mut u8)> {
    FILE.get().map(|file| (file, file.head.load(Ordering::Acquire))).filter(|(_, head)| !head.is_null())
}

/// Says what the process is: a line of JSON, in place of an earlier one.
pub(crate) fn describe(line: &str) {
    let text = format!("{line}\0");
    let Some((_, head)) = head().filter(|_| text.len() <= TABLE - size_of::<Region>()) else { return };
    // SAFETY: the head has `TABLE` bytes before its words, and the text fits between the region and these.
    unsafe { ptr::copy_nonoverlapping(text.as_ptr(), head.wrapping_add(size_of::<Region>()), text.len()) };
}

/// Says whose the place of a number is.
pub(crate) fn set_owner(number: usize, word: u64) {
    let Some((_, head)) = head().filter(|_| number < PLACES) else { return };
    // SAFETY: the head has a word for each place, and its start is that of a page.
    unsafe { head.wrapping_add(TABLE + 8 * number).cast::<u64>().write_volatile(word) };
}

/// The process has written its record: the file is removed if all have.
pub(crate) fn finish() {
    let Some((file, head)) = head() else { return };
    // SAFETY: `is_done` is a word of the head, which stays mapped.
    unsafe { head.wrapping_add(offset_of!(Region, is_done)).cast::<u64>().write_volatile(1) };
    // Whoever is the last to come here finds that all have.
    if file.all_are_done().unwrap_or(false) {
        // SAFETY: the path is a C string, which the call only reads.
        unsafe { libc::unlink(file.path.as_ptr()) };
    }
}

/// Puts the first bytes of a thread's memory, which are zero, into the file.
pub(crate) fn cover(thread: *mut u8, bytes: usize) {
    if let Some((file, _)) = head().filter(|(file, _)| file.size <= bytes) {
        file.map_over(thread, file.size, THREAD);
    }
}

/// A child by `fork` leaves the file to its parent, as it has no report: the memory of its threads becomes memory as any other, all zero.
pub(crate) fn in_child(threads: impl Iterator<Item = *mut u8>) {
    let Some(file) = FILE.get() else { return };
    file.head.store(ptr::null_mut(), Ordering::Release);
    for thread in threads {
        // SAFETY: a thread's memory begins with a region, and nothing else runs in the child yet.
        if unsafe { (*thread.cast::<Region>()).magic } == MAGIC {
            // SAFETY: the first `file.size` bytes of the memory are the file's, and nothing else runs in the child yet.
            unsafe { system::map_over(thread, file.size) };
        }
    }
}

impl CounterFile {
    /// Appends zeros to the file, and maps them in the place of `memory`, which has as many bytes, all zero.
    fn map_over(&self, memory: *mut u8, bytes: usize, kind: u64) -> bool {
        // Another process may remove the file just when it has been opened.
        (0..2).any(|_| {
            let file = system::open(&self.path, libc::O_APPEND | libc::O_CREAT);
            let place = file.as_ref().and_then(|file| append(file, bytes).ok().flatten());
            let Some((file, offset)) = file.zip(place) else { return false };
            // SAFETY: the caller has given memory of so many bytes.
            if unsafe { system::map_file(&file, offset, bytes, memory) }.is_null() {
                return false;
            }
            let (size, process, started) = (bytes as u64, self.process, self.started);
            let region = Region { magic: MAGIC, size, kind, process, started, last: 0, is_done: 0, padding: 0 };
            // SAFETY: `map_file` has mapped so many bytes there, and a region is shorter.
            unsafe { memory.cast::<Region>().write(region) };
            true
        })
    }

    fn all_are_done(&self) -> io::Result<bool> {
        let file = File::open(std::ffi::OsStr::from_bytes(self.path.as_bytes()))?;
        let (end, mut place) = (file.metadata()?.len(), 0);
        while place < end {
            let mut bytes = [0; size_of::<Region>()];
            file.read_exact_at(&mut bytes, place)?;
            // SAFETY: a region consists of integers, so any bytes are one, and `bytes` are as many.
            let region = unsafe { bytes.as_ptr().cast::<Region>().read_unaligned() };
            // A region that is not mapped yet is somebody's, who has not begun.
            if region.magic != MAGIC || region.size == 0 || region.kind == HEAD && region.is_done == 0 {
                return Ok(false);
            }
            place += region.size;
        }
        Ok(true)
    }
}

/// Appends zeros, in a number that [`GRAIN`] divides, and says where in the file they are. One write: it is whole among those of one host's
/// processes (open(2), O_APPEND), and has blocks of the disk.
fn append(mut file: &File, bytes: usize) -> io::Result<Option<u64>> {
    static ZEROS: [u8; 4096] = [0; 4096];
    // Other ranks append to the file at the same time.
    file_limit::check(file.metadata()?.len().saturating_add(bytes as u64 * 16))?;
    let written = file.write_vectored(&vec![IoSlice::new(&ZEROS); bytes / ZEROS.len()])?;
    let start = file.stream_position()?.checked_sub(bytes as u64);
    // Otherwise the disk is full, or was for another process.
    let is_whole = written == bytes && file.metadata()?.nlink() > 0;
    Ok(start.filter(|start| is_whole && start % GRAIN as u64 == 0))
}
