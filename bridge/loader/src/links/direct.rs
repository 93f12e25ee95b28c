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
//! A QMPI tool is in the program's namespace and has its next function from `QMPI_Get_function`, perhaps in every call: that call leads to
//! libqmpi.so in the same way.
//!
//! Four bytes of an instruction change, in this process's copy of the page. Only calls in wrappers that the tool exports,
//! or registers, are changed. No thread may be executing them meanwhile: the process has one, and no other code knows the wrappers so far; or the
//! architecture allows it ([`arch::BRANCHES_MAY_RUN`]). Where anything of that does not hold, or the kernel does not let us, the call stays
//! as it is, and works as well.
#![expect(unsafe_code, reason = "reads the code of a loaded object")]

use std::ffi::CStr;
use std::fs::OpenOptions;
use std::io;
use std::iter::{Sum, from_fn};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicUsize, Ordering};

use qmpi_elf::Name;
use qmpi_elf::mpi::mpi_data::begins_like_mpi;
use qmpi_overrides::names;

use crate::arch::{self, DISPLACEMENT, LONGEST_ENTRY};
use crate::image::{Code, Image};
use crate::namespace;
use crate::namespace::link_map::{self, Handle};
use crate::process::dlsym;

/// What has become of calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Led {
    /// So many lead directly to where they go.
    pub directly: usize,
    /// So many would, if it were nearer: a branch reaches 2 GB on x86-64 and 128 MB on AArch64.
    pub too_far: usize,
}

impl Sum for Led {
    fn sum<I: Iterator<Item = Led>>(parts: I) -> Led {
        parts.fold(Led::default(), |sum, part| Led {
            directly: sum.directly + part.directly,
            too_far: sum.too_far + part.too_far,
        })
    }
}

impl Led {
    /// A line for the log.
    #[must_use]
    pub fn to(self, target: &str) -> String {
        let Led { directly, too_far } = self;
        match too_far {
            0 => format!("{directly} calls lead directly to {target}"),
            _ => format!("{directly} calls lead directly to {target}, {too_far} are too far from it"),
        }
    }
}

/// Lets the wrappers of a tool that was bound just now call their next links; each is an address and a size in bytes. `sites`: those of
/// another instance of the same tool, or where they are remembered.
pub(crate) fn bind(image: &Image, head: Option<&Image>, wrappers: &[(usize, usize)], sites: &mut Option<Sites>) -> Led {
    let Some(threads) = Threads::that_allow_changes() else { return Led::default() };
    let code = image.code();
    let again = sites.as_ref().and_then(|sites| sites.changes(image, &code, head, wrappers));
    let changes = again.unwrap_or_else(|| {
        let words = Word::all(image, begins_like_mpi, names::is_mpi_function_c);
        let found = sites.insert(Sites::of(image, &code, wrappers, &words));
        found.changes(image, &code, head, wrappers).unwrap_or_default()
    });
    changes.write(&code, threads)
}

/// Lets functions that QMPI tools have registered ask libqmpi.so directly.
pub fn ask_directly(mut functions: Vec<usize>) -> Led {
    if functions.is_empty() {
        return Led::default();
    }
    let Some(threads) = Threads::that_allow_changes() else { return Led::default() };
    functions.sort_unstable();
    functions.dedup();
    let mut rest = functions.as_slice();
    let of_each_object = from_fn(|| {
        let (first, others) = rest.split_first()?;
        let Some(image) = namespace::object_at(*first).and_then(Handle::map).and_then(link_map::image) else {
            rest = others;
            return Some(Led::default());
        };
        let here;
        (here, rest) = rest.split_at(rest.iter().take_while(|function| image.contains(**function)).count().max(1));
        Some(ask_directly_in(&image, here, threads))
    });
    of_each_object.sum()
}

/// The same for those that one object has, in the order of their addresses.
fn ask_directly_in(image: &Image, functions: &[usize], threads: Threads) -> Led {
    // What is registered is an address without a size. A function that asks in every call does so at its beginning.
    const BEGINNING: usize = 192;
    let words = Word::all(image, |start| matches!(&start, b"QMPI" | b"MPI_"), |name| QUESTIONS.contains(&name));
    if words.is_empty() {
        return Led::default();
    }
    let code = image.code();
    let ends = functions.iter().skip(1).copied().chain([usize::MAX]);
    let beginnings: Vec<(usize, usize)> = functions
        .iter()
        .zip(ends)
        .map(|(start, end)| (*start, code.len_from(*start).min(end - start).min(BEGINNING)))
        .collect();
    let sites = Sites::of(image, &code, &beginnings, &words);
    let changes = sites.changes(image, &code, None, &beginnings).unwrap_or_default();
    changes.write(&code, threads)
}

/// What libqmpi.so answers by a look into a table.
const QUESTIONS: [&CStr; 7] = [
    c"QMPI_Get_function",
    c"QMPI_Get_tool_storage",
    c"QMPI_Get_calling_address",
    c"MPI_Get_function",
    c"MPI_Get_next_tool_function",
    c"MPI_Get_tool_storage",
    c"MPI_Get_calling_address",
];

/// A displacement and where it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Change {
    place: usize,
    bytes: [u8; DISPLACEMENT],
}

/// What is to be changed in an object.
#[derive(Debug, Default)]
struct Changes {
    near: Vec<Change>,
    too_far: usize,
}

/// The calls in the wrappers of a tool that can lead directly to the next link. Places are counted from the object's base: they are
/// the same in each instance.
#[derive(Debug)]
pub(crate) struct Sites {
    wrappers: Vec<(usize, usize)>,
    calls: Vec<Site>,
}

#[derive(Debug)]
struct Site {
    /// The place of the displacement, and what is there at first.
    place: usize,
    original: [u8; DISPLACEMENT],
    /// The word that the call's entry of the PLT jumps through.
    word: Word,
}

/// A word of an object that holds the address of a function.
#[derive(Debug, Clone, Copy)]
struct Word {
    place: usize,
    name: Name<'static>,
    is_call: bool,
}

impl Word {
    /// Those of `image` for functions whose names `is_wanted`, in the order of their places. `is_likely`: may a name begin so?
    fn all(image: &Image, is_likely: impl Fn([u8; 4]) -> bool, is_wanted: impl Fn(&CStr) -> bool) -> Vec<Word> {
        let bindings = image.bindings_like(is_likely).filter(|binding| is_wanted(binding.name));
        let words = bindings.map(|binding| Word {
            place: binding.place.addr() - image.base(),
            name: binding.name.into(),
            is_call: binding.is_call,
        });
        let mut words: Vec<Word> = words.collect();
        words.sort_unstable_by_key(|word| word.place);
        words
    }

    /// Where calls through it lead in `image`, whose references `head` answers first.
    fn link(&self, image: &Image, head: Option<&Image>) -> Option<usize> {
        let word = std::ptr::with_exposed_provenance_mut(image.base() + self.place);
        // SAFETY: an aligned word of the object's GOT or data.
        let word = unsafe { AtomicUsize::from_ptr(word) };
        let link = word.load(Ordering::Relaxed);
        // A word that leads back into the object is not bound yet, or the tool's own business: then it is not in the head.
        let is_bound = !image.contains(link);
        let link = if is_bound { link } else { head?.address_of(self.name).filter(|_| self.is_call)? };
        (link != 0).then_some(link)
    }
}

impl Sites {
    /// Those of `image`, which has this `code`, in these wrappers, by way of these words.
    fn of(image: &Image, code: &Code, wrappers: &[(usize, usize)], words: &[Word]) -> Sites {
        let mut calls = Vec::with_capacity(words.len());
        wrappers.iter().for_each(|wrapper| calls.extend(calls_in(image, code, words, *wrapper)));
        // Names may share a wrapper.
        calls.sort_unstable_by_key(|site| site.place);
        calls.dedup_by_key(|site| site.place);
        Sites { wrappers: relative(wrappers, image).collect(), calls }
    }

    /// What is to be changed in `image`; `None` if that is another tool, or has other wrappers.
    fn changes(
        &self,
        image: &Image,
        code: &Code,
        head: Option<&Image>,
        wrappers: &[(usize, usize)],
    ) -> Option<Changes> {
        if !relative(wrappers, image).eq(self.wrappers.iter().copied()) {
            return None;
        }
        let mut changes = Changes { near: Vec::with_capacity(self.calls.len()), too_far: 0 };
        for site in &self.calls {
            let place = image.base() + site.place;
            if code.at(place, DISPLACEMENT)? != site.original {
                return None;
            }
            let Some(link) = site.word.link(image, head) else { continue };
            match arch::displacement(place, link, site.original) {
                Some(bytes) => changes.near.push(Change { place, bytes }),
                None => changes.too_far += 1,
            }
        }
        Some(changes)
    }
}

/// Wrappers by their places in `image`.
fn relative(wrappers: &[(usize, usize)], image: &Image) -> impl Iterator<Item = (usize, usize)> {
    let base = image.base();
    wrappers.iter().map(move |(start, size)| (start.wrapping_sub(base), *size))
}

/// The calls of one wrapper.
fn calls_in(image: &Image, code: &Code, words: &[Word], (start, size): (usize, usize)) -> impl Iterator<Item = Site> {
    // The word that an entry of the object's PLT jumps through.
    let word = move |target: isize| {
        let entry = start.wrapping_add_signed(target);
        let place = arch::word_of_entry(code.at(entry, LONGEST_ENTRY)?, entry)?.checked_sub(image.base())?;
        let index = words.binary_search_by_key(&place, |word| word.place).ok()?;
        Some(words[index])
    };
    let wrapper = code.at(start, size).unwrap_or_default();
    arch::branches(wrapper, word).filter_map(move |(branch, word)| {
        let original = wrapper.get(branch.displacement..)?.first_chunk()?;
        Some(Site { place: start - image.base() + branch.displacement, original: *original, word })
    })
}

impl Changes {
    fn write(&self, code: &Code, threads: Threads) -> Led {
        Led { directly: write(code, &self.near, threads).unwrap_or(0), too_far: self.too_far }
    }
}

/// Writes changes: all of a page at once, or one by one if threads may be executing the code, so that each is one store of the kernel. The
/// kernel copies a page of a private mapping when it is written to; its protection stays, so that nothing is ever writable and executable,
/// and a signal handler of the tool finds its code at any time.
fn write(code: &Code, changes: &[Change], threads: Threads) -> io::Result<usize> {
    if changes.is_empty() {
        return Ok(0);
    }
    let memory = OpenOptions::new().write(true).open("/proc/self/mem")?;
    if threads == Threads::Several {
        arch::publish_stubs();
    }
    let mut written = 0;
    let size = arch::page_size();
    let at_once = |one: &Change, next: &Change| threads == Threads::One && one.place / size == next.place / size;
    for page in changes.chunk_by(at_once) {
        let (Some(first), Some(last)) = (page.first(), page.last()) else { continue };
        let Some(old) = code.at(first.place, last.place + DISPLACEMENT - first.place) else { continue };
        let mut new = old.to_vec();
        for change in page {
            new[change.place - first.place..][..DISPLACEMENT].copy_from_slice(&change.bytes);
        }
        memory.write_all_at(&new, first.place as u64)?;
        written += page.len();
    }
    Ok(written)
}

/// How many threads the process has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Threads {
    One,
    Several,
}

impl Threads {
    /// `None`: one of them could be executing what would be changed.
    fn that_allow_changes() -> Option<Threads> {
        let threads = Threads::of_process();
        (threads == Threads::One || arch::BRANCHES_MAY_RUN).then_some(threads)
    }

    /// What glibc knows (since 2.32) is believed if it says yes; threads that have ended again it still counts.
    fn of_process() -> Threads {
        let flag = dlsym::global(c"__libc_single_threaded");
        // SAFETY: a `char` of the C library, which only this thread could change.
        let is_single = flag.is_some_and(|flag| unsafe { *(flag as *const u8) != 0 });
        let is_single = is_single || std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1);
        if is_single { Threads::One } else { Threads::Several }
    }
}
