//! Memory of threads in a file that is mapped (`qmpi_abi::counters`): what a process has counted is there if it is killed.
//!
//! The processes of a host share the file, to which each appends its regions. It is removed when all of them have written their records. Where
//! it cannot be made or mapped, the memory is as any other.
#![expect(unsafe_code, reason = "maps memory")]

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

use qmpi_abi::counters::{GRAIN, HEAD, MAGIC, PLACES, Region, TABLE, THREAD};
use qmpi_system::file_limit;

use crate::system;
use crate::thread::{self, Thread};

/// Bytes of a region at most: places beyond are in memory only.
const LARGEST: usize = 16 * GRAIN;
/// What a region is appended from: never written to, so it takes no memory.
static ZEROS: [AtomicU8; LARGEST] = [const { AtomicU8::new(0) }; LARGEST];
/// Functions at each layer for which there is room.
const FUNCTIONS: usize = 64;

struct Shared {
    path: CString,
    process: u64,
    started: u64,
    /// Bytes of the region of a thread.
    size: usize,
}

static SHARED: OnceLock<Shared> = OnceLock::new();
/// Where the head is mapped; null: there is no file.
static HEAD_AT: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());

/// Counts in the file at `path` from the next thread on; the process has `started` so many milliseconds after 1970.
pub(crate) fn share(path: &Path, started: u64) {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return };
    if file_limit::most() != libc::RLIM_INFINITY {
        return;
    }
    let places = FUNCTIONS * thread::layers() * thread::record_size();
    let size = (size_of::<Thread>() + places).next_multiple_of(GRAIN).min(LARGEST);
    let shared = Shared { path, process: std::process::id().into(), started, size };
    let memory = system::map_memory(GRAIN);
    if memory.is_null() || !shared.map_over(memory, GRAIN, HEAD) || SHARED.set(shared).is_err() {
        return;
    }
    HEAD_AT.store(memory.cast(), Ordering::Release);
}

/// The file and the head, if there are any.
fn head() -> Option<(&'static Shared, *mut u8)> {
    let head = HEAD_AT.load(Ordering::Acquire);
    SHARED.get().filter(|_| !head.is_null()).map(|shared| (shared, head))
}

/// Says what the process is: a line of JSON, in place of an earlier one.
pub(crate) fn describe(line: &str) {
    let Some((_, head)) = head().filter(|_| line.len() < TABLE - size_of::<Region>()) else { return };
    // SAFETY: the head has more bytes.
    let text = unsafe { head.add(size_of::<Region>()) };
    // SAFETY: there is room for it.
    unsafe { ptr::copy_nonoverlapping(line.as_ptr(), text, line.len()) };
    // SAFETY: there is room for one byte more.
    let end = unsafe { text.add(line.len()) };
    // SAFETY: the same room, which is longer than the line.
    unsafe { end.write(0) };
}

/// Says whose the place of a number is.
pub(crate) fn set_owner(number: usize, word: u64) {
    let Some((_, head)) = head().filter(|_| number < PLACES) else { return };
    // SAFETY: the head has a word for each place.
    let owner = unsafe { head.add(TABLE + 8 * number) };
    // SAFETY: a word of the head, whose start is that of a page.
    unsafe { owner.cast::<u64>().write_volatile(word) };
}

/// The process has written its record: the file is removed if all have.
pub(crate) fn finish() {
    let Some((shared, head)) = head() else { return };
    // SAFETY: the head, which stays mapped.
    let is_done = unsafe { &raw mut (*head.cast::<Region>()).is_done };
    // SAFETY: a word of the head.
    unsafe { is_done.write_volatile(1) };
    // Whoever is the last to come here finds that all have.
    if shared.all_are_done().unwrap_or(false) {
        // SAFETY: a C string.
        unsafe { libc::unlink(shared.path.as_ptr()) };
    }
}

/// Puts the first bytes of a thread's memory, which are zero, into the file.
pub(crate) fn cover(thread: *mut Thread, bytes: usize) {
    if let Some((shared, _)) = head().filter(|(shared, _)| shared.size <= bytes) {
        shared.map_over(thread.cast(), shared.size, THREAD);
    }
}

/// A child by `fork` counts for itself: the memory of threads becomes memory as any other, and keeps where the process is.
pub(crate) fn in_child() {
    let Some(shared) = SHARED.get() else { return };
    HEAD_AT.store(ptr::null_mut(), Ordering::Release);
    for thread in thread::all().filter(|thread| thread.region.magic == MAGIC) {
        let place = ptr::from_ref(thread).cast_mut();
        // SAFETY: a thread's memory; nothing else runs in the child yet.
        let mut copy = unsafe { place.read() };
        copy.region.magic = 0;
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: the pages of it that are the file's.
        let memory = unsafe { libc::mmap(place.cast(), shared.size, protection, flags | libc::MAP_FIXED, -1, 0) };
        if memory != libc::MAP_FAILED {
            // SAFETY: mapped just now, at the same place.
            unsafe { place.write(copy) };
        }
    }
}

impl Shared {
    /// Appends zeros to the file, and maps them in the place of `memory`, which has as many bytes, all zero.
    fn map_over(&self, memory: *mut libc::c_void, bytes: usize, kind: u64) -> bool {
        // Another process may remove the file just when it has been opened.
        (0..2).any(|_| {
            let flags = libc::O_RDWR | libc::O_APPEND | libc::O_CREAT | libc::O_CLOEXEC;
            // SAFETY: a C string.
            let file = unsafe { libc::open(self.path.as_ptr(), flags, 0o666) };
            let is_mapped = file >= 0 && append(file, bytes).is_some_and(|offset| map(file, offset, memory, bytes));
            // SAFETY: opened above, or no descriptor.
            unsafe { libc::close(file) };
            if is_mapped {
                let (size, process, started) = (bytes as u64, self.process, self.started);
                let (magic, last, is_done, padding) = (MAGIC, 0, 0, 0);
                let region = Region { magic, size, kind, process, started, last, is_done, padding };
                // SAFETY: mapped above.
                unsafe { memory.cast::<Region>().write(region) };
            }
            is_mapped
        })
    }

    fn all_are_done(&self) -> io::Result<bool> {
        let file = File::open(std::ffi::OsStr::from_bytes(self.path.as_bytes()))?;
        let (end, mut place) = (file.metadata()?.len(), 0);
        while place < end {
            let mut bytes = [0; size_of::<Region>()];
            file.read_exact_at(&mut bytes, place)?;
            // SAFETY: words, of which each value is one.
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

/// Where the zeros that it appends are in the file. One write: it is whole among those of one host's processes (open(2), O_APPEND), and has blocks of the disk.
fn append(file: i32, bytes: usize) -> Option<i64> {
    // SAFETY: only asks.
    let end = unsafe { libc::lseek(file, 0, libc::SEEK_END) };
    // Other ranks append to the file at the same time.
    let needed = u64::try_from(end).ok()?.saturating_add(bytes as u64 * 16);
    if needed > file_limit::most() {
        return None;
    }
    let zeros = ZEROS.get(..bytes)?;
    // SAFETY: the slice has so many bytes.
    let written = unsafe { libc::write(file, zeros.as_ptr().cast(), bytes) };
    // SAFETY: only asks.
    let start = unsafe { libc::lseek(file, 0, libc::SEEK_CUR) } - bytes as i64;
    // SAFETY: all zero is one.
    let mut status = unsafe { std::mem::zeroed::<libc::stat>() };
    // SAFETY: a variable of that type.
    let is_known = unsafe { libc::fstat(file, &raw mut status) } == 0;
    // Otherwise the disk is full, or was for another process.
    let is_whole = written == bytes as isize && start >= 0 && start % GRAIN as i64 == 0;
    (is_known && is_whole && status.st_nlink > 0).then_some(start)
}

fn map(file: i32, offset: i64, memory: *mut libc::c_void, bytes: usize) -> bool {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
    // SAFETY: memory of the caller, of that size.
    let mapped = unsafe { libc::mmap(memory, bytes, protection, flags | libc::MAP_FIXED, file, offset) };
    mapped != libc::MAP_FAILED
}
