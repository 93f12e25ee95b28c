//! Where the bytes of a buffer lie: in one piece, or with gaps that are none of the message's.
//!
//! Pieces without gaps are read by the kernel, so that an address of another device's memory is an error and not a signal. Where a datatype has
//! gaps, MPI packs the elements into memory of ours: the hash is that of the same bytes without gaps. What was packed has been read or written by
//! the call; where it is not known how much that was (a receive without a status), the pages are asked for first.
#![expect(unsafe_code, reason = "asks the kernel and MPI about memory of the program")]

use std::hash::{DefaultHasher, Hasher};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use qmpi_abi::FnId;
use qmpi_elf::MpiFamily;
use qmpi_system::errno;

/// Bytes that are read at a time: they are on the stack of the program's thread.
const BLOCK: usize = 4096;
/// Bytes that are packed at a time, if elements are no larger.
const PACKED: u64 = 1 << 20;
/// The most memory that is asked for page by page.
const SPAN: u64 = 1 << 30;
/// The smallest page of any system that this runs on.
const PAGE: u64 = 4096;
/// Pages in one question.
const PAGES: usize = 64;

/// The functions of MPI that tell about datatypes, 0 for one that the MPI does not have.
#[derive(Debug)]
pub(crate) struct Datatypes {
    extent: usize,
    true_extent: usize,
    pack: usize,
    contiguous: usize,
    commit: usize,
    free: usize,
    initialized: usize,
    finalized: usize,
    /// `MPI_COMM_SELF`
    communicator: u64,
}

/// Elements of one datatype, one behind the other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Where the first byte is; with gaps, where the first element is.
    pub(crate) start: u64,
    pub(crate) elements: u64,
    /// Bytes of an element, without gaps.
    pub(crate) size: u64,
    /// With gaps: the datatype.
    pub(crate) datatype: Option<Gaps>,
}

/// A datatype with gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gaps {
    pub(crate) datatype: u64,
    /// Bytes from the address of an element to its first byte, and to the end of the last one.
    first: i64,
    length: i64,
    extent: i64,
}

type AskOfType = extern "C" fn(u64, &mut i64, &mut i64) -> i32;
type Make = extern "C" fn(i32, u64, &mut u64) -> i32;
type OfType = extern "C" fn(&mut u64) -> i32;
type Pack = extern "C" fn(u64, i32, u64, u64, i32, &mut i32, u64) -> i32;
type AskFlag = extern "C" fn(&mut i32) -> i32;

impl Datatypes {
    pub(crate) fn new(family: MpiFamily, real: impl Fn(FnId) -> Option<usize>, objects: &[(String, usize)]) -> Self {
        let real = |name: &str| FnId::by_name(name).and_then(&real).unwrap_or(0);
        let address =
            |name: &str| objects.iter().find(|(known, _)| known == name).map_or(0, |(_, address)| *address as u64);
        Self {
            extent: real("MPI_Type_get_extent"),
            true_extent: real("MPI_Type_get_true_extent"),
            pack: real("MPI_Pack"),
            contiguous: real("MPI_Type_contiguous"),
            commit: real("MPI_Type_commit"),
            free: real("MPI_Type_free"),
            initialized: real("MPI_Initialized"),
            finalized: real("MPI_Finalized"),
            // abi/constants.tsv
            communicator: match family {
                MpiFamily::Mpich => 1_140_850_689,
                MpiFamily::OpenMpi => address("ompi_mpi_comm_self"),
                MpiFamily::StandardAbi => 258,
            },
        }
    }

    /// So many elements of a datatype at an address, and how far it is from one element to the next; `None` if MPI does not say.
    pub(crate) fn piece(&self, start: u64, elements: u64, size: u64, datatype: u64) -> Option<(Piece, i64)> {
        let [(_, extent), (first, length)] = [ask(self.extent, datatype)?, ask(self.true_extent, datatype)?];
        let is_whole = length.cast_unsigned() == size && (elements == 1 || extent == length);
        let piece = if is_whole {
            Piece { start: start.wrapping_add_signed(first), elements, size, datatype: None }
        } else {
            Piece { start, elements, size, datatype: Some(Gaps { datatype, first, length, extent }) }
        };
        Some((piece, extent))
    }

    /// Another handle for a datatype, which stays when the program frees its own. Attributes are not copied, so none of the program's functions
    /// is called.
    pub(crate) fn hold(&self, datatype: u64) -> Option<u64> {
        if self.contiguous == 0 || self.commit == 0 || self.free == 0 {
            return None;
        }
        let mut held = 0;
        // SAFETY: this function of MPI, which writes a handle of 4 or 8 bytes.
        let make = unsafe { std::mem::transmute::<usize, Make>(self.contiguous) };
        // SAFETY: as above.
        let commit = unsafe { std::mem::transmute::<usize, OfType>(self.commit) };
        (make(1, datatype, &mut held) == 0 && commit(&mut held) == 0).then_some(held)
    }

    /// Gives up what [`Self::hold`] has returned.
    pub(crate) fn release(&self, mut held: u64) {
        // Behind MPI_Finalize nothing is left to be freed.
        if self.is_running() {
            // SAFETY: this function of MPI.
            let free = unsafe { std::mem::transmute::<usize, OfType>(self.free) };
            free(&mut held);
        }
    }

    /// Hashes a piece, or as many bytes as were received of it; `None` if they cannot be read. `is_touched`: MPI has read or written all of them.
    pub(crate) fn read(
        &self,
        piece: &Piece,
        received: u64,
        is_touched: bool,
        hasher: &mut DefaultHasher,
    ) -> Option<u64> {
        let all = piece.elements.wrapping_mul(piece.size);
        match &piece.datatype {
            None => read(piece.start, all.min(received), hasher),
            // An element that has come in part is left out: what is behind its end may be anything.
            Some(gaps) => {
                let elements = piece.elements.min(received / piece.size.max(1));
                self.pack(piece, gaps, elements, is_touched, hasher)
            }
        }
    }

    fn pack(
        &self,
        piece: &Piece,
        gaps: &Gaps,
        elements: u64,
        is_touched: bool,
        hasher: &mut DefaultHasher,
    ) -> Option<u64> {
        // The communicator is there only with MPI_Init, and not in sessions alone.
        if elements == 0 || self.pack == 0 || !self.is_running() || !is_touched && !gaps.is_there(piece.start, elements)
        {
            return None;
        }
        let at_once = (PACKED / piece.size.max(1)).clamp(1, elements);
        let room = i32::try_from(at_once.checked_mul(piece.size)?).ok()?;
        let memory = Memory::map(room.cast_unsigned() as usize)?;
        // SAFETY: this function of MPI.
        let pack = unsafe { std::mem::transmute::<usize, Pack>(self.pack) };
        let mut done = 0;
        while done < elements {
            let count = at_once.min(elements - done);
            let start = piece.start.wrapping_add_signed(gaps.extent.wrapping_mul(done.cast_signed()));
            let mut place = 0;
            let code =
                pack(start, count as i32, gaps.datatype, memory.address() as u64, room, &mut place, self.communicator);
            if code != 0 || place.cast_unsigned() as u64 != count * piece.size {
                return None;
            }
            hasher.write(memory.bytes(place.cast_unsigned() as usize));
            done += count;
        }
        Some(elements * piece.size)
    }

    fn is_running(&self) -> bool {
        let ask = |function: usize| {
            let mut flag = 0;
            // SAFETY: this function of MPI, which may be called at any time.
            let ask = unsafe { std::mem::transmute::<usize, AskFlag>(function) };
            ask(&mut flag) == 0 && flag != 0
        };
        self.initialized != 0 && self.finalized != 0 && ask(self.initialized) && !ask(self.finalized)
    }
}

fn ask(function: usize, datatype: u64) -> Option<(i64, i64)> {
    let (mut first, mut second) = (0, 0);
    if function == 0 {
        return None;
    }
    // SAFETY: this function of MPI; MPI_Aint has 64 bits.
    let ask = unsafe { std::mem::transmute::<usize, AskOfType>(function) };
    (ask(datatype, &mut first, &mut second) == 0).then_some((first, second))
}

impl Gaps {
    /// The address of the first byte of an element.
    pub(crate) fn first_byte(&self, start: u64) -> u64 {
        start.wrapping_add_signed(self.first)
    }

    /// Can all pages be read that so many elements lie in?
    fn is_there(&self, start: u64, elements: u64) -> bool {
        let step = self.extent.wrapping_mul((elements - 1).cast_signed());
        let start = start.wrapping_add_signed(self.first.wrapping_add(step.min(0)));
        let span = step.unsigned_abs().saturating_add(self.length.max(0).cast_unsigned());
        let Some(end) = start.checked_add(span).filter(|_| span <= SPAN) else { return false };
        let mut page = start & !(PAGE - 1);
        while page < end {
            let mut found = [0_u8; PAGES];
            let mut sources = [libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 }; PAGES];
            let mut count = 0;
            for source in &mut sources {
                if page >= end {
                    break;
                }
                *source = libc::iovec { iov_base: ptr::without_provenance_mut(page as usize), iov_len: 1 };
                (count, page) = (count + 1, page + PAGE);
            }
            if copy(&sources[..count], &mut found[..count]) != count {
                return false;
            }
        }
        true
    }
}

/// Hashes so many bytes at an address; `None` if they cannot be read.
fn read(start: u64, bytes: u64, hasher: &mut DefaultHasher) -> Option<u64> {
    let mut block = [0_u8; BLOCK];
    let mut place = 0;
    while place < bytes {
        let size = (bytes - place).min(BLOCK as u64) as usize;
        let address = start.wrapping_add(place) as usize;
        let source = libc::iovec { iov_base: ptr::without_provenance_mut(address), iov_len: size };
        if copy(&[source], &mut block[..size]) != size {
            return None;
        }
        hasher.write(&block[..size]);
        place += size as u64;
    }
    Some(bytes)
}

/// Has the kernel copy memory of the process, and tells how many bytes that were. Leaves `errno` alone.
fn copy(sources: &[libc::iovec], target: &mut [u8]) -> usize {
    /// Whether process_vm_readv(2) is forbidden, as filters of containers have it, or unknown.
    static FORBIDDEN: AtomicBool = AtomicBool::new(false);
    errno::kept(|| {
        if !FORBIDDEN.load(Ordering::Relaxed) {
            let done = usize::try_from(copy_by_address(sources, target)).ok();
            if done.is_some() || !matches!(errno::get(), libc::ENOSYS | libc::EPERM) {
                return done;
            }
            FORBIDDEN.store(true, Ordering::Relaxed);
        }
        copy_by_pipe(sources, target)
    })
    .unwrap_or(0)
}

fn copy_by_address(sources: &[libc::iovec], target: &mut [u8]) -> isize {
    // SAFETY: a system call without arguments.
    let process = unsafe { libc::getpid() };
    let target = libc::iovec { iov_base: target.as_mut_ptr().cast(), iov_len: target.len() };
    let count = sources.len() as libc::c_ulong;
    // SAFETY: writes to the target; an address that cannot be read is an error of the call's.
    unsafe { libc::process_vm_readv(process, &raw const target, 1, sources.as_ptr(), count, 0) }
}

/// The same through a pipe, which is there for this copy alone: so no other thread waits, and nothing is left after fork(2).
fn copy_by_pipe(sources: &[libc::iovec], target: &mut [u8]) -> Option<usize> {
    let mut ends = [-1; 2];
    // SAFETY: the system writes two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) } != 0 {
        return None;
    }
    // SAFETY: descriptors that are open and belong to nobody else.
    let [read, write] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
    let count = libc::c_int::try_from(sources.len()).ok()?;
    // SAFETY: an address that cannot be read is an error of the call's. A pipe takes at least a page, `BLOCK`.
    let written = usize::try_from(unsafe { libc::writev(write.as_raw_fd(), sources.as_ptr(), count) }).ok()?;
    let wanted = written.min(target.len());
    // SAFETY: writes to the target.
    usize::try_from(unsafe { libc::read(read.as_raw_fd(), target.as_mut_ptr().cast(), wanted) }).ok()
}

/// Memory from the kernel, which gets it back.
#[derive(Debug)]
pub(crate) struct Memory {
    address: usize,
    size: usize,
}

impl Memory {
    /// So many bytes, all zero. Leaves `errno` alone.
    pub(crate) fn map(size: usize) -> Option<Memory> {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let flags = flags | libc::MAP_NORESERVE;
        // SAFETY: new addresses, chosen by the kernel.
        let memory = errno::kept(|| unsafe { libc::mmap(ptr::null_mut(), size, protection, flags, -1, 0) });
        (memory != libc::MAP_FAILED).then(|| Memory { address: memory.expose_provenance(), size })
    }

    /// Where it is.
    pub(crate) fn address(&self) -> usize {
        self.address
    }

    /// The first ones.
    fn bytes(&self, count: usize) -> &[u8] {
        let start = ptr::with_exposed_provenance::<u8>(self.address);
        // SAFETY: mapped, and as long as this value lives.
        unsafe { std::slice::from_raw_parts(start, count.min(self.size)) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: mapped by `map`; an error is none that could be.
        unsafe { libc::munmap(ptr::with_exposed_provenance_mut(self.address), self.size) };
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// A multiple of every page size.
    const LARGEST_PAGE: usize = 65536;

    fn protect(address: usize) {
        // SAFETY: a page of the test's.
        let done = unsafe { libc::mprotect(ptr::with_exposed_provenance_mut(address), LARGEST_PAGE, libc::PROT_NONE) };
        assert_eq!(done, 0);
    }

    fn hash(bytes: &[u8]) -> Option<u64> {
        let mut hasher = DefaultHasher::new();
        let read = read(bytes.as_ptr().addr() as u64, bytes.len() as u64, &mut hasher);
        read.map(|_| hasher.finish())
    }

    #[test]
    fn contents_and_not_addresses() {
        let mut bytes = vec![7_u8; 3 * BLOCK + 5];
        let first = hash(&bytes);
        assert!(first.is_some() && first == hash(&bytes.clone()));
        bytes[3 * BLOCK + 4] = 8;
        assert_ne!(first, hash(&bytes), "the last byte is another one");
    }

    #[test]
    fn the_same_through_a_pipe() {
        let bytes: Vec<u8> = (0..BLOCK).map(|place| place as u8).collect();
        let memory = Memory::map(2 * LARGEST_PAGE).unwrap();
        let absent = memory.address().next_multiple_of(LARGEST_PAGE);
        protect(absent);
        let part =
            |start: usize, size| libc::iovec { iov_base: ptr::with_exposed_provenance_mut(start), iov_len: size };
        let start = bytes.as_ptr().expose_provenance();
        let mut found = vec![0; BLOCK];
        assert_eq!(copy_by_pipe(&[part(start, BLOCK)], &mut found), Some(BLOCK));
        assert_eq!(found, bytes);
        assert_eq!(copy_by_pipe(&[part(start + 7, 1), part(start + 300, 1)], &mut found[..2]), Some(2));
        assert_eq!(found[..2], [7, 44]);
        assert_eq!(copy_by_pipe(&[part(absent, 8)], &mut found[..8]), None);
        let cut_off = copy_by_pipe(&[part(start, 1), part(absent, 1)], &mut found[..2]);
        assert!(cut_off.is_none_or(|bytes| bytes < 2), "{cut_off:?}");
    }

    #[test]
    fn memory_that_is_not_there() {
        let mut hasher = DefaultHasher::new();
        // SAFETY: reads a number of the system.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
        assert_eq!(read(page / 2, 8, &mut hasher), None);
        assert_eq!(read(u64::MAX - 7, 8, &mut hasher), None);
    }

    #[test]
    fn pages_between_elements() {
        let memory = Memory::map(2 * LARGEST_PAGE + 300 * PAGE as usize).unwrap();
        let start = memory.address().next_multiple_of(LARGEST_PAGE) as u64;
        let gaps = |extent| Gaps { datatype: 0, first: 8, length: 8, extent };
        assert!(gaps(PAGE.cast_signed()).is_there(start, 300));
        assert!(gaps(-PAGE.cast_signed()).is_there(start + 299 * PAGE, 300));
        protect((start + 208 * PAGE) as usize);
        assert!(gaps(PAGE.cast_signed()).is_there(start, 208));
        assert!(!gaps(PAGE.cast_signed()).is_there(start, 209));
        assert!(!gaps(1 << 40).is_there(start, 2), "too much to ask for");
    }
}
