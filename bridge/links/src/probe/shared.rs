//! Recorders in a file that is mapped (`qmpi_abi::counters`): what a process has counted is there if it is killed.
//!
//! The processes of a host share the file, to which each appends its regions. It is removed when all of them have written their records. Where
//! it cannot be made or mapped, recorders are in memory as any other.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use qmpi_abi::FnId;
use qmpi_abi::counters::{GRAIN, HEAD, MAGIC, PLACES, Region, TABLE, THREAD};
use qmpi_system::errno;
use qmpi_system::file_limit;
use qmpi_system::fork;

use super::{Recorder, recorders};

/// Bytes of a region at most: records of functions beyond are in memory only.
const LARGEST: usize = 16 * GRAIN;
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
/// Where the head is mapped.
static HEAD_AT: AtomicUsize = AtomicUsize::new(0);

/// Counts in the file at `path` from the next recorder on, `started` milliseconds after 1970. To be called when probes are prepared.
pub fn share(path: PathBuf, started: u64) {
    // A write beyond the limit of file sizes would end the process by a signal.
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a variable of that type.
    let is_known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) } == 0;
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return };
    if !is_known || limit.rlim_cur != libc::RLIM_INFINITY {
        return;
    }
    let records = FUNCTIONS * super::CALLERS.load(Ordering::Relaxed) * super::record_size();
    let size = (size_of::<Recorder>() + records).next_multiple_of(GRAIN).min(LARGEST);
    let shared = Shared { path, process: std::process::id().into(), started, size };
    let Some(memory) = super::map_memory(GRAIN) else { return };
    if !shared.map_over(memory, GRAIN, HEAD) || SHARED.set(shared).is_err() {
        return;
    }
    HEAD_AT.store(memory.expose_provenance(), Ordering::Release);
    fork::in_child(in_child);
}

/// How a thread's region is laid out: where records begin, and bytes of a record.
#[must_use]
pub fn layout() -> [usize; 2] {
    [size_of::<Recorder>(), super::record_size()]
}

/// Says what the process is: a line of JSON.
pub fn describe(line: &str) {
    let head = HEAD_AT.load(Ordering::Acquire);
    if head == 0 || line.len() >= TABLE - size_of::<Region>() {
        return;
    }
    let text = ptr::with_exposed_provenance_mut::<u8>(head + size_of::<Region>());
    // SAFETY: there is room for it, and zero bytes behind.
    unsafe { ptr::copy_nonoverlapping(line.as_ptr(), text, line.len()) };
}

/// Whose a place of records is.
pub(super) fn place(number: usize, layer: usize, function: FnId) {
    let head = HEAD_AT.load(Ordering::Acquire);
    if head == 0 || number >= PLACES {
        return;
    }
    let word = ptr::with_exposed_provenance_mut::<u64>(head + TABLE + 8 * number);
    let value = ((layer as u64 + 1) << 32) | function.index() as u64;
    // SAFETY: a word of the head.
    unsafe { word.write_volatile(value) };
}

/// The process has written its record: the file is removed if all have.
pub fn finish() {
    let head = HEAD_AT.load(Ordering::Acquire);
    let Some(shared) = SHARED.get().filter(|_| head != 0) else { return };
    let region = ptr::with_exposed_provenance_mut::<Region>(head);
    // SAFETY: the head, which stays mapped.
    let is_done = unsafe { &raw mut (*region).is_done };
    // SAFETY: as above.
    unsafe { is_done.write_volatile(1) };
    // Whoever is the last to come here finds that all have.
    if shared.all_are_done().unwrap_or(false) {
        // SAFETY: a C string.
        unsafe { libc::unlink(shared.path.as_ptr()) };
    }
}

/// Puts the first bytes of a recorder, which are zero, into the file. Leaves `errno` alone: the caller is about to call MPI for the program.
pub(super) fn cover(recorder: *mut Recorder, bytes: usize) {
    let Some(shared) = SHARED.get().filter(|shared| shared.size <= bytes && HEAD_AT.load(Ordering::Relaxed) != 0)
    else {
        return;
    };
    errno::kept(|| shared.map_over(recorder.cast(), shared.size, THREAD));
}

/// A child counts for itself: its recorders become memory as any other, and keep where the process is.
extern "C" fn in_child() {
    let Some(shared) = SHARED.get() else { return };
    HEAD_AT.store(0, Ordering::Release);
    for recorder in recorders() {
        if recorder.region.magic != MAGIC {
            continue;
        }
        let place = ptr::from_ref(recorder).cast_mut();
        // SAFETY: a recorder; nothing else runs in the child yet.
        let mut copy = unsafe { place.read() };
        copy.region.magic = 0;
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: the pages of the recorder that are the file's.
        let memory = unsafe { libc::mmap(place.cast(), shared.size, protection, flags | libc::MAP_FIXED, -1, 0) };
        if memory != libc::MAP_FAILED {
            // SAFETY: as above.
            unsafe { place.write(copy) };
        }
    }
}

impl Shared {
    /// Appends zeros to the file, and maps them where `memory` is, which has as many.
    fn map_over(&self, memory: *mut libc::c_void, bytes: usize, kind: u64) -> bool {
        // Another process may remove the file just when it has been opened.
        (0..2).any(|_| {
            let flags = libc::O_RDWR | libc::O_APPEND | libc::O_CREAT | libc::O_CLOEXEC;
            // SAFETY: a C string.
            let file = unsafe { libc::open(self.path.as_ptr(), flags, 0o666) };
            let is_mapped =
                file >= 0 && append(file, memory, bytes).is_some_and(|offset| map(file, offset, memory, bytes));
            // SAFETY: opened above, or no descriptor.
            unsafe { libc::close(file) };
            if is_mapped {
                let (process, started) = (self.process, self.started);
                let region = Region {
                    magic: MAGIC,
                    size: bytes as u64,
                    kind,
                    process,
                    started,
                    last: 0,
                    is_done: 0,
                    padding: 0,
                };
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

/// Where the zeros are in the file. One write: it is whole among those of one host's processes (open(2), O_APPEND), and has blocks of the disk.
fn append(file: i32, zeros: *const libc::c_void, bytes: usize) -> Option<i64> {
    // SAFETY: only asks.
    let end = unsafe { libc::lseek(file, 0, libc::SEEK_END) };
    // Other ranks append to the file at the same time.
    let needed = u64::try_from(end).ok()?.saturating_add(bytes as u64 * 16);
    if needed > file_limit::most() {
        return None;
    }
    // SAFETY: memory of so many bytes.
    let written = unsafe { libc::write(file, zeros, bytes) };
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
