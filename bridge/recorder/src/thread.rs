//! What a thread counts: memory of its own, and for each function that is called at a layer a place in it.
//!
//! A thread gets its memory when it first calls MPI, from the kernel and not from a heap. It is never freed: a later thread goes on with the memory
//! of one that has ended, so that there are as many as threads at a time. The thread alone writes to it; others read whole words.
//!
//! A function at a layer gets its place in all threads when it is first called: of some thousand some dozen are, and these lie side by side.
#![expect(unsafe_code, reason = "memory from the kernel")]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::mem::offset_of;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use qmpi_abi::counters::{BUCKETS, LinkCounts, PLACES, Region};

use crate::log::Log;
use crate::sizes::Sizes;
use crate::{counters, log, system};

/// The memory of a thread. Places of functions follow, then its logs.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct ThreadMemory {
    /// What it is, where it is in a file.
    region: Region,
    /// Time inside of calls that the current call has made.
    pub(crate) inner_time: AtomicU64,
    /// The layer whose code runs; 0 is the program.
    pub(crate) layer: AtomicUsize,
    /// The thread, as the kernel numbers it.
    kernel: AtomicI32,
    next: AtomicPtr<ThreadMemory>,
    /// The thread's number, in the order of first calls.
    pub(crate) number: AtomicU64,
    /// How many calls it has made, where calls are recorded.
    pub(crate) sequence: AtomicU64,
    /// Not 0 while a call is being recorded: the handler of a signal sees it.
    pub(crate) is_recording: AtomicU64,
    /// Sizes of datatypes that the thread has asked for.
    pub(crate) sizes: Sizes,
}

/// Numbers of a function at a layer, of all threads together, times in ticks.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    /// From call to return, the same without the time in layers below, the longest.
    pub(crate) times: [u64; 3],
    /// How many calls took a time of so many bits and one more.
    pub(crate) histogram: [u64; BUCKETS],
    /// Of each layer that called, 0 being the program: calls, and the bytes that these sent and received.
    pub(crate) callers: Vec<[u64; 3]>,
}

/// Places that are nobody's: what the recorder itself costs is measured in these.
pub(crate) const OWN_PLACES: [usize; 2] = [0, 1];

/// How many layers there may be, the program and the MPI library among them.
static LAYERS: AtomicUsize = AtomicUsize::new(0);
/// How many places are taken, and whose they are: the layer and the function.
static TAKEN: AtomicUsize = AtomicUsize::new(OWN_PLACES.len());
static OWNERS: [AtomicU64; PLACES] = [const { AtomicU64::new(0) }; PLACES];
/// The memory of all threads: a list that only grows.
static THREADS: AtomicPtr<ThreadMemory> = AtomicPtr::new(ptr::null_mut());
/// Threads that have called MPI so far.
static NUMBERS: AtomicU64 = AtomicU64::new(0);
/// Threads that got no memory.
static WITHOUT: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static THIS: Cell<*const ThreadMemory> = const { Cell::new(ptr::null()) };
}

/// Makes room for so many layers, the program and the MPI library among them.
pub(crate) fn prepare(layers: usize) {
    LAYERS.store(layers, Ordering::Relaxed);
}

/// Counts in the file at `path` from the next thread on.
pub(crate) fn share(path: &Path, started: u64) {
    /// Functions at each layer for which there is room.
    const FUNCTIONS: usize = 64;
    counters::share(path, started, offset(FUNCTIONS * layers()));
}

fn layers() -> usize {
    LAYERS.load(Ordering::Relaxed)
}

/// Adds to a word that this thread alone writes.
#[inline]
fn add(word: &AtomicU64, number: u64) {
    word.store(word.load(Ordering::Relaxed).wrapping_add(number), Ordering::Relaxed);
}

/// How many threads could not be measured.
pub(crate) fn without() -> u64 {
    WITHOUT.load(Ordering::Relaxed)
}

/// The memory of all threads.
pub(crate) fn all() -> impl Iterator<Item = &'static ThreadMemory> {
    // SAFETY: null, or a thread's memory, which is never freed.
    let first = unsafe { THREADS.load(Ordering::Acquire).as_ref() };
    // SAFETY: null, or a thread's memory, which is never freed.
    std::iter::successors(first, |thread| unsafe { thread.next.load(Ordering::Relaxed).as_ref() })
}

/// The memory of the calling thread, if it has some.
#[inline]
pub(crate) fn known() -> Option<&'static ThreadMemory> {
    // SAFETY: null, or a thread's memory, which is never freed.
    unsafe { THIS.get().as_ref() }
}

/// The memory of the calling thread, which gets some with its first call; `None` if the kernel has no memory.
pub(crate) fn this() -> Option<&'static ThreadMemory> {
    if let Some(thread) = known() {
        return Some(thread);
    }
    let kernel = qmpi_system::thread::number();
    let taken_over = || all().find(|thread| thread.take_over(kernel));
    let Some(thread) = system::keep_errno(|| taken_over().or_else(|| ThreadMemory::map(kernel))) else {
        WITHOUT.fetch_add(1, Ordering::Relaxed);
        return None;
    };
    thread.number.store(NUMBERS.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    thread.begin();
    THIS.set(thread);
    Some(thread)
}

/// Gives a function at a layer its place in the memory of all threads, unless it has one or there is none left.
pub(crate) fn take_place(place: &AtomicUsize, layer: usize, function: usize) {
    if place.load(Ordering::Acquire) != 0 || TAKEN.load(Ordering::Acquire) >= PLACES {
        return;
    }
    let number = TAKEN.fetch_add(1, Ordering::AcqRel);
    let Some(owner) = OWNERS.get(number) else { return };
    // Another thread may have been quicker: nobody has this place then.
    if place.compare_exchange(0, offset(number), Ordering::AcqRel, Ordering::Acquire).is_ok() {
        let word = ((layer as u64 + 1) << 32) | function as u64;
        owner.store(word, Ordering::Release);
        counters::set_owner(number, word);
    }
}

/// Where the place of this number is, from the start of a thread's memory on.
pub(crate) fn offset(number: usize) -> usize {
    size_of::<ThreadMemory>() + number * record_size()
}

/// Bytes of a place: the numbers, and for each layer its calls and the bytes that these sent and received.
pub(crate) fn record_size() -> usize {
    size_of::<LinkCounts>() + size_of::<[u64; 3]>() * layers()
}

/// What all threads have measured so far, for each function at a layer that was called. Threads that go on may be ahead by a call.
pub(crate) fn measured() -> BTreeMap<(usize, usize), Measured> {
    let mut links = BTreeMap::new();
    let nothing = || Measured { times: [0; 3], histogram: [0; BUCKETS], callers: vec![[0; 3]; layers()] };
    for (number, owner) in OWNERS.iter().map(|owner| owner.load(Ordering::Acquire)).enumerate() {
        let Some(layer) = ((owner >> 32) as usize).checked_sub(1) else { continue };
        // Several instances may stand in front of a layer, for several versions of a function.
        let link: &mut Measured = links.entry((owner as u32 as usize, layer)).or_insert_with(nothing);
        all().for_each(|thread| link.add(thread, offset(number)));
    }
    links.retain(|_, link| link.callers.iter().any(|[calls, ..]| *calls > 0));
    links
}

/// The child of a `fork` begins: its one thread has another number than in the parent, and counts for itself.
pub(crate) fn in_child() {
    counters::in_child(all().map(|thread| ptr::from_ref(thread).cast_mut().cast()));
    if let Some(thread) = known() {
        thread.kernel.store(qmpi_system::thread::number(), Ordering::Relaxed);
    }
}

impl ThreadMemory {
    /// Whether its thread has ended and `kernel` has it now.
    fn take_over(&self, kernel: i32) -> bool {
        let before = self.kernel.load(Ordering::Relaxed);
        system::has_ended(before)
            && self.kernel.compare_exchange(before, kernel, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// The thread that has it begins: the program's code runs.
    pub(crate) fn begin(&self) {
        self.layer.store(0, Ordering::Relaxed);
        self.sequence.store(0, Ordering::Relaxed);
        self.is_recording.store(0, Ordering::Relaxed);
    }

    fn map(kernel: i32) -> Option<&'static ThreadMemory> {
        let bytes = offset(PLACES) + log::size(layers());
        let memory = system::map_memory(bytes);
        if memory.is_null() {
            return None;
        }
        counters::cover(memory, bytes);
        let memory = memory.cast::<ThreadMemory>();
        // SAFETY: mapped just now, large enough, and known to this thread alone: a region, which is the first field, and zeros behind it, which are a
        // value of every other field.
        let thread: &'static ThreadMemory = unsafe { &*memory };
        // Stores that are atomic, as the loads of other threads are.
        thread.kernel.store(kernel, Ordering::Relaxed);
        let link = |next| {
            thread.next.store(next, Ordering::Relaxed);
            Some(memory)
        };
        THREADS.fetch_update(Ordering::AcqRel, Ordering::Acquire, link).is_ok().then_some(thread)
    }

    /// Something that lies so far behind its start.
    #[inline]
    fn at<T>(&self, offset: usize) -> &T {
        let address = ptr::from_ref(self).expose_provenance() + offset;
        // SAFETY: callers name places of the memory that `map` has mapped, whose words are of any value.
        unsafe { &*ptr::with_exposed_provenance(address) }
    }

    /// Its log of a layer's calls: memory that is all zero at first.
    pub(crate) fn log(&self, layer: usize) -> *mut Log {
        let logs = ptr::from_ref(self).expose_provenance() + offset(PLACES);
        ptr::with_exposed_provenance_mut(logs + layer * size_of::<Log>())
    }

    /// The calls of a layer at a place, and the bytes that these sent and received.
    #[inline]
    fn caller(&self, place: usize, caller: usize) -> &[AtomicU64; 3] {
        self.at(place + size_of::<LinkCounts>() + size_of::<[u64; 3]>() * caller)
    }

    /// A layer's call arrives.
    #[inline]
    pub(crate) fn count_call(&self, place: usize, caller: usize) {
        add(&self.caller(place, caller)[0], 1);
    }

    /// The time of all calls at a place.
    pub(crate) fn time(&self, place: usize) -> u64 {
        self.at::<LinkCounts>(place).inclusive.load(Ordering::Relaxed)
    }

    /// A call has returned: its time, and the part of it that is of layers below.
    #[inline]
    pub(crate) fn count_time(&self, place: usize, time: u64, below: u64) {
        let LinkCounts { inclusive, own, longest, histogram } = self.at(place);
        add(inclusive, time);
        add(own, time.wrapping_sub(below));
        if longest.load(Ordering::Relaxed) < time {
            longest.store(time, Ordering::Relaxed);
        }
        let bucket = &histogram[(time | 1).ilog2() as usize];
        bucket.store(bucket.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// A layer's call has moved so many bytes.
    #[inline]
    pub(crate) fn count_bytes(&self, place: usize, caller: usize, [sent, received]: [u64; 2]) {
        let [_, all_sent, all_received] = self.caller(place, caller);
        add(all_sent, sent);
        add(all_received, received);
    }

    /// Counts a time as one below the layer whose code runs: it is not the layer's.
    #[inline]
    pub(crate) fn leave_out(&self, ticks: u64) {
        add(&self.inner_time, ticks);
    }

    /// When the last call returned, for a reader of the file.
    #[inline]
    pub(crate) fn set_last(&self, ticks: u64) {
        let last: &AtomicU64 = self.at(offset_of!(ThreadMemory, region.last));
        last.store(ticks, Ordering::Relaxed);
    }
}

impl Measured {
    /// Adds what a thread has at a place.
    fn add(&mut self, thread: &ThreadMemory, place: usize) {
        // A caller that was left by an exception has not taken its callees' time off: own times may be negative.
        let add = |sum: &mut u64, word: &AtomicU64| *sum = sum.wrapping_add(word.load(Ordering::Relaxed));
        let counts: &LinkCounts = thread.at(place);
        add(&mut self.times[0], &counts.inclusive);
        add(&mut self.times[1], &counts.own);
        self.times[2] = self.times[2].max(counts.longest.load(Ordering::Relaxed));
        for (sum, count) in self.histogram.iter_mut().zip(&counts.histogram) {
            *sum += u64::from(count.load(Ordering::Relaxed));
        }
        for (caller, sums) in self.callers.iter_mut().enumerate() {
            sums.iter_mut().zip(thread.caller(place, caller)).for_each(|(sum, word)| add(sum, word));
        }
    }
}
