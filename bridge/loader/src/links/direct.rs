//! Direct calls: a wrapper's call of `PMPI_f` leads to the next link without the detour through the PLT.
//!
//! A shared library calls another's function through an entry of its own PLT, a jump through a word that `ld.so`
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

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicUsize, Ordering};

use qmpi_overrides::names;

use crate::arch::{self, DISPLACEMENT, LONGEST_ENTRY, PAGE};
use crate::image::Image;
use crate::process::dlsym;

/// Lets the wrappers of a tool that was bound just now call their next links; each is an address and a size in bytes.
/// Returns how many calls were changed.
pub(crate) fn bind(image: &Image, head: Option<&Image>, wrappers: impl IntoIterator<Item = (usize, usize)>) -> usize {
    if !has_one_thread() {
        return 0;
    }
    let links = Links::of(image, head);
    let mut changes: Vec<Change> = wrappers.into_iter().flat_map(|wrapper| changes(image, &links, wrapper)).collect();
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

/// The words of an object that hold the address of a function of MPI: the place of each, and the address.
struct Links(Vec<(usize, usize)>);

impl Links {
    /// Those of `image`, whose references `head` answers first.
    fn of(image: &Image, head: Option<&Image>) -> Links {
        let words = image.bindings().filter(|binding| names::is_mpi_function_c(binding.name)).filter_map(|binding| {
            // SAFETY: an aligned word of the object's GOT or data.
            let word = unsafe { AtomicUsize::from_ptr(binding.place) };
            let link = word.load(Ordering::Relaxed);
            // A word that leads back into the object is not bound yet, or the tool's own business: then it is not in the head.
            let is_bound = !image.contains(link);
            let link = if is_bound { link } else { head?.find(binding.name).filter(|_| binding.is_call)?.address };
            (link != 0).then_some((binding.place.addr(), link))
        });
        let mut words: Vec<_> = words.collect();
        words.sort_unstable();
        Links(words)
    }

    /// The link that an entry of the object's PLT leads to.
    fn behind(&self, entry: usize, image: &Image) -> Option<usize> {
        let code = image.code(entry, LONGEST_ENTRY)?;
        let word = arch::word_of_entry(code, entry)?;
        let index = self.0.binary_search_by_key(&word, |(place, _)| *place).ok()?;
        Some(self.0[index].1)
    }
}

fn changes(image: &Image, links: &Links, (start, size): (usize, usize)) -> Vec<Change> {
    let Some(code) = image.code(start, size) else { return Vec::new() };
    let link = |target: isize| links.behind(start.wrapping_add_signed(target), image);
    let branches = arch::branches(code, |target| link(target).is_some());
    let changes = branches.into_iter().filter_map(|branch| {
        let place = start + branch.displacement;
        Some(Change { place, bytes: arch::displacement(place, link(branch.target)?)? })
    });
    changes.collect()
}

/// Writes them, page by page. The kernel copies a page of a private mapping when it is written to; its protection stays, so
/// that nothing is ever writable and executable, and a signal handler of the tool finds its code at any time.
fn write(image: &Image, changes: &[Change]) -> io::Result<usize> {
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
        memory.write_all_at(&new, first.place as u64)?;
        written += page.len();
    }
    Ok(written)
}

/// What glibc knows (since 2.32) is believed if it says yes; threads that have ended again it still counts.
fn has_one_thread() -> bool {
    let flag = dlsym::global(c"__libc_single_threaded");
    // SAFETY: a `char` of the C library, which only this thread could change.
    let is_single = flag.is_some_and(|flag| unsafe { *(flag as *const u8) != 0 });
    is_single || std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1)
}
