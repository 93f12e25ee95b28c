//! Where a thread's calls of one layer are recorded: chunks of the rank's file, mapped one after the other.
//!
//! The file is opened for each chunk and closed again: no descriptor stays open. Its blocks are asked for before it is mapped, so that a full
//! disk ends the recording and not the program.
#![expect(unsafe_code, reason = "memory that is mapped")]

use std::ffi::CStr;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use qmpi_abi::trace::{Chunk, GRAIN, HEAD, MAGIC, TracedCall};
use qmpi_system::{clock, file_limit};

use crate::system;
use crate::trace::{Limit, Settings};

/// Chunks of a log that keeps all calls grow up to this size.
const LARGEST: usize = 16 * GRAIN;
/// What a call takes on average, where chunks are made for a number of calls.
const A_CALL: usize = 256;
/// Where a chunk's records begin.
const FIRST: usize = size_of::<Chunk>();
/// Bytes at the end of a chunk that records do not get: words are written there that no record has.
const SLACK: usize = 64;
/// `MADV_POPULATE_WRITE` of Linux 5.14: older ones refuse it, and pages come one by one.
const POPULATE_WRITE: i32 = 23;

/// Where the next chunk begins; 0 as long as there is no file.
static END: AtomicU64 = AtomicU64::new(0);
/// Calls that should have been recorded, for which there was no room.
static LOST: AtomicU64 = AtomicU64::new(0);
/// The child of a `fork` shares the file with its parent, and leaves it alone.
static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// One of a thread's logs. All zero until its first call.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Log {
    /// Where the next record begins, where the chunk ends, and the chunk.
    cursor: usize,
    end: usize,
    chunk: usize,
    /// Calls until the limit.
    left: u64,
    /// The thread whose limit it is, and one more: a later thread may go on with it.
    thread: u64,
    /// Counts chunks that are filled, where only the last calls are kept.
    generation: u64,
    /// The chunk before, in that case.
    before: usize,
    size: usize,
}

/// Bytes of the logs of a thread, one for each layer; none if calls are not recorded.
pub(crate) fn size(layers: usize) -> usize {
    if crate::trace::settings().is_some() { layers * size_of::<Log>() } else { 0 }
}

/// The child of a `fork` begins.
pub(crate) fn in_child() {
    IS_CHILD.store(true, Ordering::Relaxed);
}

/// Begins the file with this line, or gives it another one; calls are recorded from now on.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn start_file(line: &str, settings: &Settings) -> io::Result<()> {
    let is_new = END.load(Ordering::Acquire) == 0;
    write_head(&settings.path, line, is_new)?;
    if is_new {
        END.store(HEAD as u64, Ordering::Release);
    }
    Ok(())
}

fn write_head(path: &CStr, line: &str, is_new: bool) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::FileExt;
    let path = std::ffi::OsStr::from_bytes(path.to_bytes());
    let file = std::fs::OpenOptions::new().write(true).create_new(is_new).open(path)?;
    if line.len() >= HEAD {
        return Err(io::Error::other("too many layers"));
    }
    if is_new {
        file_limit::check(HEAD as u64)?;
        file.set_len(HEAD as u64)?;
    }
    file.write_all_at(line.as_bytes(), 0)
}

/// How many calls could not be recorded.
pub(crate) fn lost() -> u64 {
    LOST.load(Ordering::Relaxed)
}

/// Is this the child of a `fork`?
pub(crate) fn is_child() -> bool {
    IS_CHILD.load(Ordering::Relaxed)
}

/// A call that is not recorded, and should have been.
pub(crate) fn lose() {
    LOST.fetch_add(1, Ordering::Relaxed);
}

impl Log {
    /// Room for a record of so many bytes; `None` if the call is not to be recorded, or cannot be.
    #[inline]
    pub(crate) fn reserve(
        &mut self,
        thread: u64,
        layer: u64,
        size: usize,
        settings: &Settings,
    ) -> Option<*mut TracedCall> {
        if self.thread != thread + 1 {
            self.begin(thread, settings);
        }
        if self.left == 0 {
            self.at_limit(settings)?;
        }
        if self.cursor + size > self.end && !self.turn(layer, size, settings) {
            lose();
            return None;
        }
        self.left -= 1;
        let record = self.cursor;
        self.cursor += size;
        Some(ptr::with_exposed_provenance_mut(record))
    }

    /// The record, the log's last one or an earlier one, takes so many bytes of those that it has got.
    #[inline]
    pub(crate) fn keep(&mut self, record: &mut TracedCall, used: usize) {
        let address = ptr::from_mut(record).addr();
        record.used = used as u32;
        if address + record.size as usize == self.cursor {
            record.size = used as u32;
            self.cursor = address + used;
            self.publish();
        }
    }

    /// Tells readers how far the chunk is filled.
    #[inline]
    pub(crate) fn publish(&self) {
        let chunk = ptr::with_exposed_provenance_mut::<Chunk>(self.chunk);
        // SAFETY: mapped, and never unmapped.
        let used = unsafe { &raw mut (*chunk).used };
        // SAFETY: as above; this thread alone writes to it.
        unsafe { used.write_volatile((self.cursor - self.chunk) as u64) };
    }

    /// Records into memory of its own, that of no file, from its start.
    pub(crate) fn record_to(&mut self, thread: u64, memory: &mut [u8]) {
        let start = memory.as_mut_ptr().expose_provenance();
        (self.thread, self.left) = (thread + 1, u64::MAX);
        (self.chunk, self.cursor, self.end) = (start, start + FIRST, start + memory.len() - SLACK);
    }

    /// Has recorded nothing.
    pub(crate) fn forget(&mut self) {
        (self.thread, self.left, self.chunk, self.cursor, self.end) = (0, 0, 0, 0, 0);
    }

    /// Which chunk the log is at.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    #[cold]
    fn begin(&mut self, thread: u64, settings: &Settings) {
        self.thread = thread + 1;
        match settings.limit {
            Limit::All => self.left = u64::MAX,
            Limit::First(calls) => self.left = calls,
            // The chunk may have calls of an earlier thread.
            Limit::Last(calls) if self.left == 0 => self.left = calls,
            Limit::Last(_) => {}
        }
    }

    /// All calls that were asked for are there.
    #[cold]
    fn at_limit(&mut self, settings: &Settings) -> Option<()> {
        match settings.limit {
            Limit::Last(calls) if calls > 0 => {
                self.end = self.cursor;
                self.left = calls;
                Some(())
            }
            _ => {
                if let Some(chunk) = self.chunk() {
                    chunk.unrecorded += 1;
                }
                None
            }
        }
    }

    fn chunk(&mut self) -> Option<&mut Chunk> {
        // SAFETY: mapped, never unmapped, and this thread's alone.
        unsafe { ptr::with_exposed_provenance_mut::<Chunk>(self.chunk).as_mut() }
    }

    /// Goes on in another chunk: a new one, or that with the oldest calls.
    #[cold]
    fn turn(&mut self, layer: u64, size: usize, settings: &Settings) -> bool {
        let last = match settings.limit {
            Limit::Last(calls) => Some(usize::try_from(calls).unwrap_or(usize::MAX)),
            Limit::First(_) | Limit::All => None,
        };
        let bytes = match last {
            Some(calls) => calls.saturating_mul(A_CALL).saturating_add(FIRST).min(1 << 40).next_multiple_of(GRAIN),
            None => self.size.saturating_mul(2).clamp(GRAIN, LARGEST),
        };
        let used_again = std::mem::replace(&mut self.before, if last.is_some() { self.chunk } else { 0 });
        let chunk = if used_again != 0 { used_again } else { map(bytes, settings) };
        if chunk == 0 || FIRST + size > bytes - SLACK {
            return false;
        }
        // Each chunk counts those that are not in it and might have been.
        let unrecorded = if used_again == 0 { 0 } else { unrecorded(used_again) };
        self.generation += 1;
        (self.chunk, self.size) = (chunk, bytes);
        (self.cursor, self.end) = (chunk + FIRST, chunk + bytes - SLACK);
        let head = Chunk {
            magic: MAGIC,
            size: bytes as u64,
            used: FIRST as u64,
            generation: self.generation,
            layer,
            ticks: system::ticks(),
            clock: clock::nanoseconds(libc::CLOCK_REALTIME),
            unrecorded,
        };
        // SAFETY: mapped, large enough, and this thread's alone.
        unsafe { ptr::with_exposed_provenance_mut::<Chunk>(chunk).write(head) };
        true
    }
}

/// How many calls a chunk will have dropped when it is used again.
fn unrecorded(chunk: usize) -> u64 {
    // SAFETY: a chunk that is mapped and belongs to this thread.
    let head = unsafe { ptr::with_exposed_provenance::<Chunk>(chunk).read() };
    let (mut place, mut records) = (FIRST, head.unrecorded);
    while place < head.used as usize {
        // SAFETY: a record of the chunk.
        let size = unsafe { ptr::with_exposed_provenance::<TracedCall>(chunk + place).read() }.size;
        place += (size as usize).max(size_of::<TracedCall>());
        records += 1;
    }
    records
}

/// The next bytes of the file, mapped; 0 if there are none. Leaves `errno` alone: the caller is about to call MPI for the program.
fn map(bytes: usize, settings: &Settings) -> usize {
    if IS_CHILD.load(Ordering::Relaxed) || END.load(Ordering::Acquire) == 0 {
        return 0;
    }
    system::keep_errno(|| map_next(bytes, settings))
}

fn map_next(bytes: usize, settings: &Settings) -> usize {
    let offset = END.fetch_add(bytes as u64, Ordering::AcqRel).cast_signed();
    // SAFETY: a C string.
    let file = unsafe { libc::open(settings.path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
    let has_room = offset.cast_unsigned() + bytes as u64 <= file_limit::most();
    let address = if file >= 0 && has_room && allocate(file, offset, bytes) {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: new addresses, chosen by the kernel.
        unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, file, offset) }
    } else {
        libc::MAP_FAILED
    };
    // SAFETY: opened above, or no descriptor.
    unsafe { libc::close(file) };
    if address != libc::MAP_FAILED {
        // SAFETY: mapped above; only asks for its pages.
        unsafe { libc::madvise(address, bytes.min(LARGEST), POPULATE_WRITE) };
    }
    if address == libc::MAP_FAILED { 0 } else { address.expose_provenance() }
}

/// Makes the file so long, with blocks for it where the file system can say so.
fn allocate(file: i32, offset: i64, bytes: usize) -> bool {
    // SAFETY: a descriptor and numbers.
    if unsafe { libc::fallocate(file, 0, offset, bytes as i64) } == 0 {
        return true;
    }
    if io::Error::last_os_error().raw_os_error() != Some(libc::EOPNOTSUPP) {
        return false;
    }
    static ZEROS: [u8; 4096] = [0; 4096];
    (0..bytes as i64 / 4096).all(|page| {
        // SAFETY: a descriptor, and bytes that are there.
        let written = unsafe { libc::pwrite(file, ZEROS.as_ptr().cast(), ZEROS.len(), offset + 4096 * page) };
        written == 4096
    })
}
