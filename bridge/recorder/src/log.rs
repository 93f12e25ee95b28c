//! Where a thread's calls of one layer are recorded (`qmpi_abi::trace`): chunks of the rank's file, mapped one after the other.
//!
//! The file is opened for each chunk and closed again: no descriptor stays open. Its blocks are asked for before it is mapped, so that a full
//! disk ends the recording and not the program.
#![expect(unsafe_code, reason = "memory that is mapped")]

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use qmpi_abi::trace::{Chunk, GRAIN, HEAD, MAGIC, TracedCall};
use qmpi_system::{clock, file_limit};

use crate::system;

/// Chunks of a log that keeps all calls grow up to this size.
const LARGEST: usize = 16 * GRAIN;
/// What a call takes on average, where chunks are made for a number of calls.
const A_CALL: usize = 256;
/// Where a chunk's records begin.
const FIRST: usize = size_of::<Chunk>();
/// Bytes at the end of a chunk that records do not get: words are written there that no record has.
const SLACK: usize = 64;

/// The file of a rank.
#[derive(Debug)]
pub(crate) struct CallFile {
    pub(crate) path: CString,
    /// How many calls of each thread at each layer are recorded.
    pub(crate) calls: u64,
    /// These are the last ones, at least so many, and places of calls are used again for later ones. Otherwise these are the first ones.
    pub(crate) keeps_last: bool,
}

static FILE: OnceLock<CallFile> = OnceLock::new();
/// Where the next chunk begins.
static END: AtomicU64 = AtomicU64::new(HEAD as u64);
/// Calls that should have been recorded, for which there was no room.
static LOST: AtomicU64 = AtomicU64::new(0);
/// The child of a `fork` shares the file with its parent, and leaves it alone.
static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// One of a thread's logs. All zero until its first call.
#[derive(Debug, Default)]
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
    /// Counts chunks that are filled.
    pub(crate) generation: u64,
    size: usize,
    /// How many calls the chunk has.
    calls: u64,
    /// Where only the last calls are kept: the chunk before, and its calls.
    before: usize,
    calls_before: u64,
}

/// `all`, `first:N`, `last:N`: how many calls, and whether these are the last ones.
pub(crate) fn limit(text: &str) -> Option<(u64, bool)> {
    match text.split_once(':') {
        None if text == "all" => Some((u64::MAX, false)),
        Some(("first", calls)) => Some((calls.parse().ok()?, false)),
        Some(("last", calls)) => Some((calls.parse().ok()?, true)),
        _ => None,
    }
}

/// Bytes of the logs of a thread, one for each layer; none if calls are not recorded.
pub(crate) fn size(layers: usize) -> usize {
    if file().is_some() { layers * size_of::<Log>() } else { 0 }
}

/// Records calls in this file from now on.
///
/// # Errors
/// When it cannot be made.
pub(crate) fn start(file: CallFile) -> io::Result<()> {
    file_limit::check(HEAD as u64)?;
    let made = system::open(&file.path, libc::O_CREAT | libc::O_EXCL).ok_or_else(io::Error::last_os_error)?;
    made.set_len(HEAD as u64)?;
    drop(FILE.set(file));
    Ok(())
}

/// Gives the file this first line.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn describe(line: &str) -> io::Result<()> {
    let Some(file) = file() else { return Ok(()) };
    if line.len() >= HEAD {
        return Err(io::Error::other("too many layers"));
    }
    system::open(&file.path, 0).ok_or_else(io::Error::last_os_error)?.write_all_at(line.as_bytes(), 0)
}

/// The child of a `fork` begins.
pub(crate) fn in_child() {
    IS_CHILD.store(true, Ordering::Relaxed);
}

/// The file; `None`: calls are not recorded.
#[inline]
pub(crate) fn file() -> Option<&'static CallFile> {
    FILE.get().filter(|_| !IS_CHILD.load(Ordering::Relaxed))
}

/// How many calls could not be recorded.
pub(crate) fn lost() -> u64 {
    LOST.load(Ordering::Relaxed)
}

/// A call that is not recorded, and should have been.
pub(crate) fn lose() {
    LOST.fetch_add(1, Ordering::Relaxed);
}

impl Log {
    /// Is a call of this thread among those that are to be recorded?
    #[inline]
    pub(crate) fn admits(&mut self, thread: u64, file: &CallFile) -> bool {
        if self.thread != thread + 1 {
            self.thread = thread + 1;
            // Where the last calls are kept, the chunk may have calls of an earlier thread.
            if !file.keeps_last || self.left == 0 {
                self.left = file.calls;
            }
        }
        if self.left > 0 {
            return true;
        }
        if file.keeps_last {
            // The next call goes on in the other chunk.
            (self.end, self.left) = (0, file.calls);
            return file.calls > 0;
        }
        // SAFETY: null, or a chunk that is mapped, never unmapped, and this thread's alone.
        if let Some(chunk) = unsafe { ptr::with_exposed_provenance_mut::<Chunk>(self.chunk).as_mut() } {
            chunk.unrecorded += 1;
        }
        false
    }

    /// Room for a record of so many bytes; `None` if there is none.
    #[inline]
    pub(crate) fn reserve(&mut self, layer: u64, size: usize, file: &CallFile) -> Option<*mut TracedCall> {
        if self.cursor + size > self.end && !self.turn(layer, size, file) {
            lose();
            return None;
        }
        (self.left, self.calls) = (self.left - 1, self.calls + 1);
        let record = self.cursor;
        self.cursor += size;
        Some(ptr::with_exposed_provenance_mut(record))
    }

    /// The record, the log's last one or an earlier one, takes so many bytes of those that it has got.
    #[inline]
    pub(crate) fn shorten(&mut self, record: &mut TracedCall) {
        let address = ptr::from_mut(record).addr();
        if address + record.size as usize == self.cursor {
            record.size = record.used;
            self.cursor = address + record.used as usize;
            self.publish();
        }
    }

    /// Tells readers how far the chunk is filled.
    #[inline]
    pub(crate) fn publish(&self) {
        let used = ptr::with_exposed_provenance::<AtomicU64>(self.chunk + offset_of!(Chunk, used));
        // SAFETY: a word of a chunk of this log, which is mapped, and never unmapped; this thread alone writes to it.
        unsafe { &*used }.store((self.cursor - self.chunk) as u64, Ordering::Release);
    }

    /// One that records calls of a thread into memory of its own, that of no file.
    pub(crate) fn in_memory(thread: u64, memory: &mut [u8]) -> Log {
        let chunk = memory.as_mut_ptr().expose_provenance();
        let (cursor, end) = (chunk + FIRST, chunk + memory.len() - SLACK);
        Log { thread: thread + 1, left: u64::MAX, chunk, cursor, end, ..Log::default() }
    }

    /// Is what was recorded in this generation still there? Where only the last calls are kept, the chunk after the next one takes its place.
    pub(crate) fn has(&self, generation: u64, file: &CallFile) -> bool {
        !file.keeps_last || self.generation - generation <= 1
    }

    /// Goes on in another chunk: a new one, or that with the oldest calls.
    #[cold]
    fn turn(&mut self, layer: u64, size: usize, file: &CallFile) -> bool {
        let bytes = if file.keeps_last {
            let calls = usize::try_from(file.calls).unwrap_or(usize::MAX);
            calls.saturating_mul(A_CALL).saturating_add(FIRST).min(1 << 40).next_multiple_of(GRAIN)
        } else {
            self.size.saturating_mul(2).clamp(GRAIN, LARGEST)
        };
        let is_used_again = file.keeps_last && self.before != 0;
        let chunk = if is_used_again { self.before } else { system::keep_errno(|| map(bytes, file)) };
        if chunk == 0 || FIRST + size > bytes - SLACK {
            return false;
        }
        let place = ptr::with_exposed_provenance_mut::<Chunk>(chunk);
        // SAFETY: the chunk is mapped and this thread's alone, and a new one is all zero, which is a value of its head.
        let dropped = unsafe { (*place).unrecorded };
        let unrecorded = if is_used_again { dropped + self.calls_before } else { 0 };
        (self.before, self.calls_before, self.calls) = (self.chunk, self.calls, 0);
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
        // SAFETY: the chunk is mapped, larger than its head, and this thread's alone.
        unsafe { place.write(head) };
        true
    }
}

/// The next bytes of the file, mapped; 0 if there are none.
fn map(bytes: usize, file: &CallFile) -> usize {
    let offset = END.fetch_add(bytes as u64, Ordering::AcqRel);
    let has_room = offset + bytes as u64 <= file_limit::most();
    let opened = system::open(&file.path, 0).filter(|opened| has_room && allocate(opened, offset, bytes));
    // SAFETY: the place is null, so no memory is replaced.
    opened.map_or(0, |opened| unsafe { system::map_file(&opened, offset, bytes, ptr::null_mut()) }.expose_provenance())
}

/// Makes the file so long, with blocks for it: where the file system cannot say so, the C library writes to each (posix_fallocate(3)).
fn allocate(file: &File, offset: u64, bytes: usize) -> bool {
    // SAFETY: the descriptor is open, and the call gets no pointer.
    unsafe { libc::posix_fallocate(file.as_raw_fd(), offset.cast_signed(), bytes as i64) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits() {
        assert_eq!(limit("all"), Some((u64::MAX, false)));
        assert_eq!(limit("first:1000"), Some((1000, false)));
        assert_eq!(limit("last:7"), Some((7, true)));
        assert_eq!((limit("7"), limit("last:"), limit("")), (None, None, None));
    }
}
