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
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use libc::{PF_X, PT_LOAD, c_int};
use qmpi_dynamic::objects;
use qmpi_system::{file_limit, log};

use crate::arch::{PAGE, WholePages};

/// All blocks of one kind, whose rows are `Rows`: that of the library, and its copies.
pub(crate) struct Blocks<Rows: 'static> {
    /// Where the code of the library's begins and ends.
    code: *const u8,
    end: *const u8,
    rows: &'static WholePages<Rows>,
    /// The first group of copies.
    head: AtomicPtr<BlockGroup>,
    /// How many stubs are taken.
    taken: AtomicUsize,
}

// SAFETY: the pointers are addresses of code; all else is atomic, as `Blocks::new` wants of the rows.
unsafe impl<Rows: Sync> Sync for Blocks<Rows> {}

/// A block.
#[derive(Debug)]
pub(crate) struct Block<Rows: 'static> {
    /// The address of its code.
    pub(crate) code: usize,
    /// How far its code is from that of the library.
    pub(crate) distance: usize,
    pub(crate) rows: &'static Rows,
}

/// The addresses of a block: code and rows start a page, and are whole pages long.
#[derive(Debug, Clone, Copy)]
struct BlockPlace {
    code: usize,
    code_len: usize,
    rows: usize,
    rows_len: usize,
}

/// Blocks that are mapped together.
struct BlockGroup {
    /// How many blocks there are in groups before.
    first: usize,
    blocks: MappedBlocks,
    next: AtomicPtr<BlockGroup>,
}

/// What was mapped. Without stubs there is no stack, so the process ends where memory for them cannot be mapped.
pub(crate) fn required<T>(mapped: io::Result<T>) -> T {
    const HINT: &str = "the limits of memory and of mappings must leave room (ulimit -v, vm.max_map_count), and \
                        libqmpi_core.so's file system or memfd_create must allow executable mappings";
    mapped.unwrap_or_else(|error| log::fatal(&format!("no memory for stubs between layers: {error}"), Some(HINT)))
}

/// Blocks of one group at most: some megabytes of addresses.
const MOST_OF_A_GROUP: usize = 16;

impl<Rows: Sync> Blocks<Rows> {
    /// The block of the library alone.
    ///
    /// # Safety
    /// The code from `code` to `end` is whole pages of this library, does nothing but jump, and refers to nothing but these rows by its own
    /// place. The rows are atomic, and zeros are such rows.
    pub(crate) const unsafe fn new(code: *const u8, end: *const u8, rows: &'static WholePages<Rows>) -> Blocks<Rows> {
        Blocks { code, end, rows, head: AtomicPtr::new(ptr::null_mut()), taken: AtomicUsize::new(0) }
    }

    /// The block of a stub that nobody has taken before, and the stub's number in it, where a block has `stubs`.
    pub(crate) fn take(&'static self, stubs: usize) -> (Block<Rows>, usize) {
        let number = self.taken.fetch_add(1, Ordering::Relaxed);
        (self.get(number / stubs), number % stubs)
    }

    /// Block `number`, 0 being that of the library.
    pub(crate) fn get(&'static self, number: usize) -> Block<Rows> {
        let BlockPlace { code, rows, .. } = required(self.place(number));
        // SAFETY: such rows, of the library, or zeros at first that are mapped for ever.
        let rows = unsafe { &*ptr::with_exposed_provenance(rows) };
        Block { code, distance: code.wrapping_sub(self.code.addr()), rows }
    }

    fn place(&self, number: usize) -> io::Result<BlockPlace> {
        let of_library = BlockPlace {
            code: self.code.expose_provenance(),
            code_len: self.end.addr() - self.code.addr(),
            rows: ptr::from_ref(self.rows).expose_provenance(),
            rows_len: size_of::<WholePages<Rows>>(),
        };
        let Some(copy) = number.checked_sub(1) else { return Ok(of_library) };
        let (mut first, mut end) = (0, &self.head);
        loop {
            // SAFETY: null, or a group, which is never freed.
            let group = match unsafe { end.load(Ordering::Acquire).as_ref() } {
                Some(group) => group,
                None => BlockGroup::add(end, first, of_library)?,
            };
            if copy - first < group.blocks.count {
                return Ok(group.blocks.place(copy - first));
            }
            (first, end) = (group.first + group.blocks.count, &group.next);
        }
    }
}

impl BlockGroup {
    /// Maps a group and puts it at the end of the list, unless another thread was first: then it returns that one's.
    fn add(end: &AtomicPtr<BlockGroup>, first: usize, of_library: BlockPlace) -> io::Result<&'static BlockGroup> {
        let blocks = MappedBlocks::new(of_library)?;
        let (count, len) = (blocks.count, blocks.space.len);
        let group = Box::into_raw(Box::new(BlockGroup { first, blocks, next: AtomicPtr::default() }));
        match end.compare_exchange(ptr::null_mut(), group, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                log::debug(|| format!("{count} more blocks of stubs, {} kB of addresses", len / 1024));
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
        // SAFETY: the mapping is at new addresses, chosen by the kernel.
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

/// Copies of a block.
struct MappedBlocks {
    space: Space,
    /// The first of them.
    first: BlockPlace,
    /// From one to the next.
    stride: usize,
    count: usize,
}

impl MappedBlocks {
    /// Maps as many copies as fit between code and rows.
    fn new(of_library: BlockPlace) -> io::Result<MappedBlocks> {
        let of_file = CodeFile::of_library(of_library.code).and_then(|source| MappedBlocks::from(of_library, &source));
        of_file.or_else(|_| MappedBlocks::from(of_library, &CodeFile::in_memory(of_library)?))
    }

    fn from(of_library: BlockPlace, source: &CodeFile) -> io::Result<MappedBlocks> {
        let BlockPlace { code, code_len, rows, rows_len } = of_library;
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
        Ok(MappedBlocks { space, first: BlockPlace { code, rows, ..of_library }, stride, count })
    }

    fn place(&self, index: usize) -> BlockPlace {
        let offset = index * self.stride;
        BlockPlace { code: self.first.code + offset, rows: self.first.rows + offset, ..self.first }
    }
}

/// # Safety
/// So many bytes can be read there.
unsafe fn bytes<'a>(address: usize, len: usize) -> &'a [u8] {
    // SAFETY: so many bytes can be read there, as the caller promises.
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
    fn in_memory(of_library: BlockPlace) -> io::Result<CodeFile> {
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
    use crate::trampoline::{self, TrampolineRows};

    fn block() -> BlockPlace {
        static BLOCKS: Blocks<TrampolineRows> = trampoline::blocks();
        BLOCKS.place(0).unwrap()
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
        static BLOCKS: Blocks<TrampolineRows> = trampoline::blocks();
        let original = block();
        let last = MOST_OF_A_GROUP * 2 + 3;
        let mut copies: Vec<BlockPlace> = (0..last).map(|number| BLOCKS.place(number).unwrap()).collect();
        for copy in &copies {
            assert_eq!(copy.rows.wrapping_sub(copy.code), original.rows.wrapping_sub(original.code));
            assert_eq!(unsafe_bytes(copy), unsafe_bytes(&original));
            assert_eq!((&*protection(copy.code), &*protection(copy.rows)), ("r-xp", "rw-p"));
        }
        // In any order, the same ones.
        for number in (0..last).rev() {
            assert_eq!(BLOCKS.place(number).unwrap().code, copies[number].code);
        }
        copies.sort_by_key(|block| block.code);
        assert!(copies.windows(2).all(|pair| pair[0].code + pair[0].code_len <= pair[1].code));
    }

    fn unsafe_bytes(block: &BlockPlace) -> &'static [u8] {
        // SAFETY: mapped for ever.
        unsafe { bytes(block.code, block.code_len) }
    }

    #[test]
    fn a_file_in_memory_takes_the_place_of_the_library() {
        let original = block();
        let mapped = MappedBlocks::from(original, &CodeFile::in_memory(original).unwrap()).unwrap();
        assert_eq!(unsafe_bytes(&mapped.first), unsafe_bytes(&original));
        assert_eq!(protection(mapped.first.code), "r-xp");
        std::mem::forget(mapped);
    }

    #[test]
    fn another_file_is_refused() {
        let original = block();
        let source = CodeFile { file: File::open("/proc/self/exe").unwrap(), offset: 0 };
        assert!(MappedBlocks::from(original, &source).is_err());
    }

    #[test]
    fn threads_get_the_same_copies() {
        static BLOCKS: Blocks<TrampolineRows> = trampoline::blocks();
        let all: Vec<Vec<usize>> = std::thread::scope(|scope| {
            let get = || (0..40).map(|number| BLOCKS.place(number).unwrap().code).collect();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(get)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(all.iter().all(|codes| *codes == all[0]));
    }
}
