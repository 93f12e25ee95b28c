//! Direct calls: a wrapper's call of `PMPI_f` leads to the next link without the detour through the linkage table.
//!
//! A shared library calls another's function through an entry of its own linkage table, a jump through a word that `ld.so`
//! has filled in. For a layer that is half of what it costs, and the word never changes again: so once the tool is bound, the
//! displacement of the call itself is set to the next link. glibc does nearly the same with the entries of the table
//! (`glibc.cpu.plt_rewrite`, since 2.39).
//!
//! ```text
//! MPI_Send:  ...                          MPI_Send:  ...
//!            call PMPI_Send@plt     ->               call next link
//!            ...                                     ...
//! ```
//!
//! Four bytes of an instruction change, in this process's copy of the page. Only calls in wrappers that the tool exports are
//! changed, which nobody can be executing yet: the process has one thread, and nobody else knows the wrappers so far. Where
//! anything of that does not hold, or the kernel does not let us, the call stays as it is, and works as well.
#![expect(unsafe_code, reason = "reads the code of a loaded object")]

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::arch::{self, DISPLACEMENT};
use crate::dlsym;
use crate::image::{Image, Kind};

/// Lets the wrappers of a tool that was bound just now call their next links. Returns how many calls were changed.
pub(crate) fn bind(image: &Image) -> usize {
    if !has_one_thread() {
        return 0;
    }
    let links = links(image);
    let mut changes = changes(image, &links);
    // Names may share a wrapper.
    changes.sort_unstable_by_key(|change| change.place);
    changes.dedup();
    write(image, &changes).unwrap_or(0)
}

/// A displacement and where it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Change {
    place: usize,
    bytes: [u8; DISPLACEMENT],
}

/// What the words of the object that hold the address of a function of MPI hold: the place of the word, the address.
fn links(image: &Image) -> HashMap<usize, usize> {
    let of_mpi = image.bindings().filter(|binding| qmpi_abi::classify_c(binding.name).is_some());
    let words = of_mpi.map(|binding| {
        // SAFETY: an aligned word of the object's GOT or data.
        let word = unsafe { AtomicUsize::from_ptr(binding.place) };
        (binding.place.addr(), word.load(Ordering::Relaxed))
    });
    // A word that leads back into the object is not bound yet, or the tool's own business.
    words.filter(|(_, address)| *address != 0 && !image.contains(*address)).collect()
}

fn changes(image: &Image, links: &HashMap<usize, usize>) -> Vec<Change> {
    let link_through = |entry: usize| {
        const LONGEST_ENTRY: usize = 16;
        let code = image.code(entry, LONGEST_ENTRY)?;
        links.get(&arch::word_of_entry(code, entry)?).copied()
    };
    let is_wrapper = |name| qmpi_abi::classify_c(name).is_some_and(|symbol| !symbol.profiling);
    let wrappers =
        image.symbols().filter(|symbol| symbol.kind == Kind::Function && symbol.defined && is_wrapper(symbol.name));
    let mut changes = Vec::new();
    for (start, size) in wrappers.map(|symbol| (symbol.address, symbol.size)) {
        let Some(code) = image.code(start, size) else { continue };
        let link_behind = |target: isize| link_through(start.wrapping_add_signed(target));
        for branch in arch::branches(code, |target| link_behind(target).is_some()) {
            let place = start + branch.displacement;
            let bytes = link_behind(branch.target).and_then(|link| arch::displacement(place, link));
            changes.extend(bytes.map(|bytes| Change { place, bytes }));
        }
    }
    changes
}

/// Writes them, page by page. The kernel copies a page of a private mapping when it is written to; its protection stays, so
/// that nothing is ever writable and executable, and a signal handler of the tool finds its code at any time.
fn write(image: &Image, changes: &[Change]) -> io::Result<usize> {
    const PAGE: usize = 4096;
    if changes.is_empty() {
        return Ok(0);
    }
    let memory = OpenOptions::new().write(true).open("/proc/self/mem")?;
    let mut written = 0;
    for page in changes.chunk_by(|one, next| one.place / PAGE == next.place / PAGE) {
        let (Some(first), Some(last)) = (page.first(), page.last()) else { continue };
        let Some(old) = image.code(first.place, last.place + DISPLACEMENT - first.place) else { continue };
        let mut new = old.to_vec();
        for change in page {
            new[change.place - first.place..][..DISPLACEMENT].copy_from_slice(&change.bytes);
        }
        replace(&memory, first.place, &new)?;
        written += page.len();
    }
    Ok(written)
}

fn replace(memory: &File, place: usize, bytes: &[u8]) -> io::Result<()> {
    memory.write_all_at(bytes, place as u64)
}

/// As glibc has it since 2.32. Older ones do not tell: then it may have more.
fn has_one_thread() -> bool {
    let Some(flag) = dlsym::global(c"__libc_single_threaded") else { return false };
    // SAFETY: a `char` of the C library, which only this thread could change.
    unsafe { *(flag as *const u8) != 0 }
}
