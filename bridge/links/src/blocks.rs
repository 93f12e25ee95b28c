//! Blocks of stubs: machine code of the library with rows of data at a fixed distance, mapped again as often as stubs are needed.
//!
//! The code of a stub refers to its row relative to the instruction pointer. So the same bytes at another address, with other memory at
//! the same distance, are new stubs: no code is written at run time, and no page is ever writable and executable.
//!
//! ```text
//! library:  | code |  ...  | rows |               distance = rows - code, the same everywhere
//! group:    | code | code | code | ... | rows | rows | rows |
//! ```
//!
//! The code is mapped from the file that the library was loaded from. Where that file cannot be mapped, or has other contents by now,
//! it is copied into a file in memory (`memfd_create`), which is mapped instead.
//!
//! # Unwinding
//! Copies have no CFI. They hold nothing but tail jumps, so no call returns into one, and no exception or back trace of
//! a call passes one; only the handler of a signal that arrives in one of its few instructions finds a back trace that ends there.
//! `__register_frame` would mend that at a price that is higher: once anything is registered, libgcc before version 13 takes a mutex in
//! every search for a frame, and a handler that unwinds (a sampling tool) deadlocks.
//!
//! # Concurrency
//! Groups are a linked list that only grows, without a lock: a fork at any moment leaves the child with a list that works.
#![expect(unsafe_code, reason = "maps memory")]

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use libc::{PF_X, PT_LOAD, c_int};
use qmpi_dynamic::objects;
use qmpi_system::file_limit;

use crate::arch::PAGE;

/// The code and the rows of a block, by their addresses: both start a page, and are whole pages long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block {
    pub(crate) code: usize,
    pub(crate) code_len: usize,
    pub(crate) rows: usize,
    pub(crate) rows_len: usize,
}

/// Blocks that are mapped together.
struct BlockGroup {
    /// How many blocks there are in groups before.
    first: usize,
    count: usize,
    /// The first of them.
    block: Block,
    /// From one to the next.
    stride: usize,
    next: AtomicPtr<BlockGroup>,
}

/// All blocks of one kind: that of the library, and its copies.
pub(crate) struct Blocks {
    of_library: fn() -> Block,
    /// The first group of copies.
    head: AtomicPtr<BlockGroup>,
    /// One of the groups, where a search may start.
    recent: AtomicPtr<BlockGroup>,
}

/// Blocks of one group at most: some megabytes of addresses.
const MOST_OF_A_GROUP: usize = 16;

impl Blocks {
    /// The block of the library alone.
    pub(crate) const fn new(of_library: fn() -> Block) -> Blocks {
        Blocks { of_library, head: AtomicPtr::new(ptr::null_mut()), recent: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Block `number`, 0 being that of the library.
    ///
    /// # Errors
    /// When memory or code cannot be mapped.
    pub(crate) fn get(&'static self, number: usize) -> io::Result<Block> {
        let Some(copy) = number.checked_sub(1) else { return Ok((self.of_library)()) };
        // SAFETY: null, or a group, which is never freed.
        let recent = unsafe { self.recent.load(Ordering::Acquire).as_ref() };
        let (mut first, mut place) = match recent {
            Some(group) if group.first <= copy => {
                if let Some(block) = group.block(copy) {
                    return Ok(block);
                }
                (group.first + group.count, &group.next)
            }
            _ => (0, &self.head),
        };
        loop {
            // SAFETY: as above.
            let group = match unsafe { place.load(Ordering::Acquire).as_ref() } {
                Some(group) => group,
                None => BlockGroup::add(place, first, (self.of_library)())?,
            };
            if let Some(block) = group.block(copy) {
                self.recent.store(ptr::from_ref(group).cast_mut(), Ordering::Release);
                return Ok(block);
            }
            (first, place) = (group.first + group.count, &group.next);
        }
    }
}

impl BlockGroup {
    fn block(&self, copy: usize) -> Option<Block> {
        let index = copy.checked_sub(self.first).filter(|index| *index < self.count)?;
        let offset = index * self.stride;
        Some(Block { code: self.block.code + offset, rows: self.block.rows + offset, ..self.block })
    }

    /// Maps a group and puts it at the end of the list, unless another thread was first: then it returns that one's.
    fn add(end: &AtomicPtr<BlockGroup>, first: usize, of_library: Block) -> io::Result<&'static BlockGroup> {
        let mapped = map(of_library)?;
        let (len, block, stride, count) = (mapped.space.len, mapped.block, mapped.stride, mapped.count);
        let group = Box::into_raw(Box::new(BlockGroup { first, count, block, stride, next: AtomicPtr::default() }));
        match end.compare_exchange(ptr::null_mut(), group, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                qmpi_system::log::debug(|| format!("{count} more blocks of stubs, {} kB of addresses", len / 1024));
                std::mem::forget(mapped.space);
                // SAFETY: made above and never freed from here on.
                Ok(unsafe { &*group })
            }
            Err(other) => {
                // SAFETY: made above, and known to this thread alone.
                drop(unsafe { Box::from_raw(group) });
                // SAFETY: what is in the list is never freed.
                Ok(unsafe { &*other })
            }
        }
    }
}

/// Addresses that are given back unless they are kept on purpose.
struct Space {
    start: usize,
    len: usize,
}

impl Space {
    fn reserve(len: usize) -> io::Result<Space> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: new addresses, chosen by the kernel.
        let start = unsafe { libc::mmap(ptr::null_mut(), len, libc::PROT_NONE, flags, -1, 0) };
        if start == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Space { start: start.addr(), len }) }
    }

    /// Maps over a part of it.
    fn map(&self, at: usize, len: usize, protection: c_int, from: Option<&CodeFile>) -> io::Result<()> {
        let part = self.start..self.start + self.len;
        assert!(part.contains(&at) && part.end - at >= len, "inside of the reserved addresses");
        let anonymous = if from.is_none() { libc::MAP_ANONYMOUS } else { 0 };
        let (descriptor, offset) = from.map_or((-1, 0), |source| (source.file.as_raw_fd(), source.offset));
        let flags = libc::MAP_PRIVATE | libc::MAP_FIXED | anonymous;
        let address = ptr::with_exposed_provenance_mut(at);
        // SAFETY: it replaces a part of the reserved addresses, which nothing uses so far.
        let mapped = unsafe { libc::mmap(address, len, protection, flags, descriptor, offset) };
        if mapped == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        // SAFETY: made by `reserve`; whoever handed out parts of it has not let it be dropped.
        unsafe { libc::munmap(ptr::with_exposed_provenance_mut(self.start), self.len) };
    }
}

struct MappedBlocks {
    space: Space,
    block: Block,
    stride: usize,
    count: usize,
}

/// Maps as many copies as fit between code and rows.
fn map(of_library: Block) -> io::Result<MappedBlocks> {
    let opened = CodeFile::of_library(of_library.code).and_then(|source| map_from(of_library, &source));
    opened.or_else(|_| map_from(of_library, &CodeFile::in_memory(of_library)?))
}

fn map_from(of_library: Block, source: &CodeFile) -> io::Result<MappedBlocks> {
    let Block { code, code_len, rows, rows_len } = of_library;
    let stride = code_len.max(rows_len).next_multiple_of(PAGE);
    let distance = code.abs_diff(rows);
    let count = (distance / stride).clamp(1, MOST_OF_A_GROUP);
    let space = Space::reserve(distance + count * stride)?;
    let (code, rows) =
        if code < rows { (space.start, space.start + distance) } else { (space.start + distance, space.start) };
    for index in 0..count {
        space.map(code + index * stride, code_len, libc::PROT_READ | libc::PROT_EXEC, Some(source))?;
    }
    space.map(rows, count * stride, libc::PROT_READ | libc::PROT_WRITE, None)?;
    // SAFETY: code of the library, readable (its segment is R E), and not written to.
    let original = unsafe { bytes(of_library.code, code_len) };
    // SAFETY: mapped readable just now. A file that became shorter meanwhile would be a SIGBUS, as for any library's file.
    let copy = unsafe { bytes(code, code_len) };
    if original != copy {
        return Err(io::Error::other("the library's file was replaced"));
    }
    Ok(MappedBlocks { space, block: Block { code, rows, ..of_library }, stride, count })
}

/// # Safety
/// So many bytes can be read there.
unsafe fn bytes<'a>(address: usize, len: usize) -> &'a [u8] {
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(ptr::with_exposed_provenance(address), len) }
}

/// A file that has the code, and where.
struct CodeFile {
    file: File,
    offset: libc::off_t,
}

impl CodeFile {
    /// The file of the library that this code is in.
    fn of_library(code: usize) -> io::Result<CodeFile> {
        let place = objects::find(|info| {
            let segments = info.segments();
            let address = (code as u64).wrapping_sub(segments.base() as u64);
            let segment = segments.headers().iter().find(|header| {
                let is_code = header.p_type == PT_LOAD && header.p_flags & PF_X != 0;
                is_code && address.checked_sub(header.p_vaddr).is_some_and(|place| place < header.p_filesz)
            })?;
            // SAFETY: the object is this library, which is never unloaded.
            Some((unsafe { info.kept_name() }, address - segment.p_vaddr + segment.p_offset))
        });
        let (name, offset) = place.ok_or(io::ErrorKind::NotFound)?;
        // A path that is relative names another file once the program has changed its directory; contents are compared.
        let file = File::open(path(name.to_bytes()))?;
        Ok(CodeFile { file, offset: offset.try_into().map_err(io::Error::other)? })
    }

    /// A file in memory, for as long as it is mapped.
    fn in_memory(of_library: Block) -> io::Result<CodeFile> {
        file_limit::check(of_library.code_len as u64)?;
        // SAFETY: the name is a C string.
        let descriptor = unsafe { libc::memfd_create(c"qmpi:stubs".as_ptr(), libc::MFD_CLOEXEC) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: made just now, and owned by nothing else.
        let mut file = unsafe { File::from_raw_fd(descriptor) };
        // SAFETY: code of the library, readable (its segment is R E).
        file.write_all(unsafe { bytes(of_library.code, of_library.code_len) })?;
        Ok(CodeFile { file, offset: 0 })
    }
}

/// The name that `ld.so` has for an object as a path; the program has none.
fn path(name: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    if name.is_empty() { "/proc/self/exe".into() } else { std::ffi::OsStr::from_bytes(name).into() }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::arch;

    fn block() -> Block {
        arch::trampolines()
    }

    /// Protections of the mapping that an address lies in, as `/proc/self/maps` has them.
    fn protection(address: usize) -> String {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let line = maps.lines().find(|line| {
            let (start, end) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
            let number = |text| usize::from_str_radix(text, 16).unwrap();
            (number(start)..number(end)).contains(&address)
        });
        line.unwrap().split(' ').nth(1).unwrap().into()
    }

    #[test]
    fn copies_are_like_the_block_of_the_library() {
        static BLOCKS: Blocks = Blocks::new(block);
        let original = block();
        let last = MOST_OF_A_GROUP * 2 + 3;
        let mut copies: Vec<Block> = (0..last).map(|number| BLOCKS.get(number).unwrap()).collect();
        for copy in &copies {
            assert_eq!(copy.rows.wrapping_sub(copy.code), original.rows.wrapping_sub(original.code));
            assert_eq!(unsafe_bytes(copy), unsafe_bytes(&original));
            assert_eq!((&*protection(copy.code), &*protection(copy.rows)), ("r-xp", "rw-p"));
        }
        // In any order, the same ones.
        for number in (0..last).rev() {
            assert_eq!(BLOCKS.get(number).unwrap().code, copies[number].code);
        }
        copies.sort_by_key(|block| block.code);
        assert!(copies.windows(2).all(|pair| pair[0].code + pair[0].code_len <= pair[1].code));
    }

    fn unsafe_bytes(block: &Block) -> &'static [u8] {
        // SAFETY: mapped for ever.
        unsafe { bytes(block.code, block.code_len) }
    }

    #[test]
    fn a_file_in_memory_takes_the_place_of_the_library() {
        let original = block();
        let mapped = map_from(original, &CodeFile::in_memory(original).unwrap()).unwrap();
        assert_eq!(unsafe_bytes(&mapped.block), unsafe_bytes(&original));
        assert_eq!(protection(mapped.block.code), "r-xp");
        std::mem::forget(mapped.space);
    }

    #[test]
    fn another_file_is_refused() {
        let original = block();
        let source = CodeFile { file: File::open("/proc/self/exe").unwrap(), offset: 0 };
        assert!(map_from(original, &source).is_err());
    }

    #[test]
    fn threads_get_the_same_copies() {
        static BLOCKS: Blocks = Blocks::new(block);
        let all: Vec<Vec<usize>> = std::thread::scope(|scope| {
            let get = || (0..40).map(|number| BLOCKS.get(number).unwrap().code).collect();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(get)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(all.iter().all(|codes| *codes == all[0]));
    }
}
