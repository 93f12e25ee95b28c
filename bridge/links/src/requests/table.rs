//! The table of requests: of a fixed size, without a lock, read and written by all threads. A look-up costs the same whatever was in the
//! table before.
//!
//! ```text
//! handle -> two buckets -> 8 slots each, whose keys are one cache line -> the layers that the request was started past
//! ```
//!
//! A handle is in one of its two buckets, or nowhere: no search goes on elsewhere, so a slot that is given up is empty at once, and
//! there are no traces of deletions. It is added to the bucket with more room, which keeps both from being full up to well above half of
//! the table. What finds both full is not kept.
//!
//! | `key` | the slot belongs to |
//! |---|---|
//! | `EMPTY` | nobody; the thread that makes it `BUSY` owns it |
//! | `BUSY` | the thread that adds a request, or is completing one |
//! | a handle | the table; the thread that completes the request makes it `BUSY` |
//!
//! # What threads may do
//! MPI leaves a request to one thread at a time: that which started it, or which completes it. Only this thread adds, changes or takes out its
//! handle, so no handle is there twice. While MPI completes a request it may give the handle to another thread, which adds it anew:
//! the slot that was taken out is `BUSY` meanwhile, and is not found. Threads that ask about a handle may do so at any time. The slot may
//! become another request's between their look at the key and at the rest: they look at the key again. A word of the rest that they see
//! was written (`Release`) by an owner who had made the slot `BUSY` before, so the second look (behind an `Acquire`) sees that, too.
#![expect(unsafe_code, reason = "maps memory")]

use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

const WIDTH: usize = 8;
const BUCKETS_LOG: u32 = 16;
const BUCKETS: usize = 1 << BUCKETS_LOG;

const EMPTY: u64 = 0;
const BUSY: u64 = 1;

/// The words of one slot besides its key.
#[derive(Debug)]
struct SlotWords {
    /// The layers that it was started past.
    past: AtomicU64,
    handle: AtomicUsize,
    /// While it is taken out: its index among the call's requests, and the next place of the call, plus one.
    link: AtomicU64,
}

#[derive(Debug)]
#[repr(C, align(64))]
struct Bucket {
    keys: [AtomicU64; WIDTH],
    requests: [SlotWords; WIDTH],
}

/// A slot by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SlotNumber(usize);

impl SlotNumber {
    /// As it is in a word in which 0 is none.
    pub(super) fn word(place: Option<SlotNumber>) -> usize {
        place.map_or(0, |place| place.0 + 1)
    }

    pub(super) fn of_word(word: usize) -> Option<SlotNumber> {
        word.checked_sub(1).map(SlotNumber)
    }
}

/// A request that was taken out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) handle: usize,
    /// Its index among the call's requests.
    pub(super) index: usize,
    /// The next one of the call.
    pub(super) next: Option<SlotNumber>,
}

/// The table.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestTable {
    buckets: &'static [Bucket],
    /// How many requests there are, those that are taken out included.
    count: &'static AtomicUsize,
}

impl RequestTable {
    /// An empty table. `count` counts its requests.
    pub(super) fn new(count: &'static AtomicUsize) -> io::Result<RequestTable> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let (len, protection) = (BUCKETS * size_of::<Bucket>(), libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: new addresses, chosen by the kernel.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, flags, -1, 0) };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: so many, never unmapped; zeros are a bucket, and all of it is atomic.
        let buckets = unsafe { std::slice::from_raw_parts(memory.cast::<Bucket>(), BUCKETS) };
        Ok(RequestTable { buckets, count })
    }

    /// The layers that the request with this handle was started past, if it is in the table.
    pub(super) fn past(self, handle: usize) -> Option<u64> {
        self.places(handle).find_map(|place| {
            let (key_of, request) = self.slot(place);
            if key_of.load(Ordering::Acquire) != key(handle) {
                return None;
            }
            #[cfg(test)]
            tests::BETWEEN_LOOKS.take().into_iter().for_each(|happens| happens());
            let past = request.past.load(Ordering::Acquire);
            (key_of.load(Ordering::Relaxed) == key(handle)).then_some(past)
        })
    }

    /// Keeps that a request was started past these layers; past none: forgets what was kept of a request with the same handle, whose
    /// completion was not seen.
    pub(super) fn keep(self, handle: usize, past: u64) {
        let known = if self.count.load(Ordering::Relaxed) == 0 { None } else { self.find(handle) };
        match (known, past) {
            (None, 0) => {}
            (Some(place), 0) => self.forget(place),
            (Some(place), past) => self.slot(place).1.past.store(past, Ordering::Release),
            (None, past) => self.add(handle, past),
        }
    }

    /// Takes the request with this handle out, for a call that completes it.
    pub(super) fn take_out(self, handle: usize, index: usize, next: Option<SlotNumber>) -> Option<SlotNumber> {
        let place = self.find(handle)?;
        let (key_of, request) = self.slot(place);
        key_of.compare_exchange(key(handle), BUSY, Ordering::AcqRel, Ordering::Relaxed).ok()?;
        request.link.store((index as u64) << 32 | SlotNumber::word(next) as u64, Ordering::Relaxed);
        Some(place)
    }

    /// What the caller has taken out.
    #[expect(clippy::cast_possible_truncation, reason = "two halves of a word")]
    pub(super) fn taken(self, place: SlotNumber) -> Taken {
        let (_, request) = self.slot(place);
        let link = request.link.load(Ordering::Relaxed);
        Taken {
            handle: request.handle.load(Ordering::Relaxed),
            index: (link >> 32) as usize,
            next: SlotNumber::of_word(link as u32 as usize),
        }
    }

    /// Puts back what the caller has taken out.
    pub(super) fn put_back(self, place: SlotNumber) {
        let (key_of, request) = self.slot(place);
        key_of.store(key(request.handle.load(Ordering::Relaxed)), Ordering::Release);
    }

    /// Forgets a request of the caller's.
    pub(super) fn forget(self, place: SlotNumber) {
        self.slot(place).0.store(EMPTY, Ordering::Release);
        self.count.fetch_sub(1, Ordering::Relaxed);
    }

    fn add(self, handle: usize, past: u64) {
        let [first, second] = homes(handle);
        let order = if self.room(second) > self.room(first) { [second, first] } else { [first, second] };
        for place in order.into_iter().flat_map(places_of) {
            let (key_of, request) = self.slot(place);
            if key_of.load(Ordering::Relaxed) != EMPTY
                || key_of.compare_exchange(EMPTY, BUSY, Ordering::AcqRel, Ordering::Relaxed).is_err()
            {
                continue;
            }
            request.past.store(past, Ordering::Release);
            request.handle.store(handle, Ordering::Relaxed);
            // Before it can be found: a count of 0 means that there are none.
            self.count.fetch_add(1, Ordering::Relaxed);
            key_of.store(key(handle), Ordering::Release);
            return;
        }
    }

    fn room(self, bucket: usize) -> usize {
        self.buckets[bucket].keys.iter().filter(|key| key.load(Ordering::Relaxed) == EMPTY).count()
    }

    fn find(self, handle: usize) -> Option<SlotNumber> {
        self.places(handle).find(|place| self.slot(*place).0.load(Ordering::Acquire) == key(handle))
    }

    /// Where a handle may be.
    fn places(self, handle: usize) -> impl Iterator<Item = SlotNumber> {
        let places = homes(handle).into_iter().flat_map(places_of);
        #[cfg(test)]
        let places = places.inspect(|_| tests::PROBES.with(|probes| probes.set(probes.get() + 1)));
        places
    }

    fn slot(self, SlotNumber(number): SlotNumber) -> (&'static AtomicU64, &'static SlotWords) {
        let bucket = &self.buckets[number / WIDTH % BUCKETS];
        (&bucket.keys[number % WIDTH], &bucket.requests[number % WIDTH])
    }
}

fn places_of(bucket: usize) -> impl Iterator<Item = SlotNumber> {
    (0..WIDTH).map(move |slot| SlotNumber(bucket * WIDTH + slot))
}

/// No handle is one of the other values: addresses and `int` leave the topmost bit.
fn key(handle: usize) -> u64 {
    handle as u64 | 1 << 63
}

/// The two buckets of a handle, by the upper bits of products with two odd numbers.
fn homes(handle: usize) -> [usize; 2] {
    let hash = |factor: u64| (handle as u64).wrapping_mul(factor) >> (u64::BITS - BUCKETS_LOG);
    let (first, second) = (hash(0x9e37_79b9_7f4a_7c15) as usize, hash(0xd6e8_feb8_6659_fd93) as usize);
    [first, if second == first { first ^ 1 } else { second }]
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// Slots that this thread has looked at.
        pub(super) static PROBES: Cell<usize> = const { Cell::new(0) };
        /// What happens when this thread has looked at a key, and not yet at the rest.
        pub(super) static BETWEEN_LOOKS: Cell<Option<Box<dyn FnOnce()>>> = const { Cell::new(None) };
    }

    fn table() -> RequestTable {
        let count: &'static AtomicUsize = Box::leak(Box::new(AtomicUsize::new(0)));
        RequestTable::new(count).unwrap()
    }

    /// The most slots that one of these look-ups looks at.
    fn most_probes(table: RequestTable, handles: impl IntoIterator<Item = usize>) -> usize {
        let probes = |handle| {
            PROBES.set(0);
            table.past(handle);
            PROBES.get()
        };
        handles.into_iter().map(probes).max().unwrap_or(0)
    }

    /// What a request is said to have been started past.
    fn past(handle: usize) -> u64 {
        (handle as u64).wrapping_mul(3) | 1
    }

    fn complete(table: RequestTable, handle: usize) {
        let place = table.take_out(handle, 0, None).unwrap();
        assert_eq!(table.past(handle), None);
        table.forget(place);
    }

    #[test]
    fn look_ups_are_cheap_after_a_million_handles() {
        const LIVE: usize = 64;
        let table = table();
        let mut most = 0;
        for handle in 1000..1000 + (1 << 20) {
            table.keep(handle, past(handle));
            assert_eq!(table.past(handle), Some(past(handle)));
            if handle % 97 == 0 {
                most = most.max(most_probes(table, [handle, handle + 1, handle - LIVE, handle ^ 1 << 40]));
            }
            if handle >= 1000 + LIVE {
                complete(table, handle - LIVE);
            }
        }
        assert!(most <= 2 * WIDTH, "{most}");
        assert_eq!(table.count.load(Ordering::Relaxed), LIVE);
    }

    #[test]
    fn a_quarter_million_requests_at_once() {
        let table = table();
        // As MPICH's and Open MPI's handles are: integers with a mark, and addresses of objects of one size.
        for handles in [
            (0..1 << 18).map(|n| 0x9800_0000 + n).collect::<Vec<_>>(),
            (0..1 << 18).map(|n| 0x7f12_3456_7000 + 0x180 * n).collect(),
        ] {
            handles.iter().for_each(|&handle| table.keep(handle, past(handle)));
            assert!(handles.iter().all(|&handle| table.past(handle) == Some(past(handle))));
            assert!(most_probes(table, handles.iter().map(|handle| handle + 1)) <= 2 * WIDTH);
            handles.iter().for_each(|&handle| table.keep(handle, 0));
            assert_eq!(table.count.load(Ordering::Relaxed), 0);
        }
    }

    /// The slot becomes another request's while a thread asks about the one that it was: never the other's layers are told.
    #[test]
    fn a_slot_that_becomes_anothers() {
        let table = table();
        let mut crowded = (1..).filter(|&handle| homes(handle)[0] == 7);
        let (old, new) = (crowded.next().unwrap(), crowded.next().unwrap());
        table.keep(old, past(old));
        let place = table.find(old);
        BETWEEN_LOOKS.set(Some(Box::new(move || {
            complete(table, old);
            table.keep(new, past(new));
        })));
        assert_eq!(table.past(old), None);
        assert_eq!((table.find(new), table.past(new)), (place, Some(past(new))));
    }

    /// Some complete and start requests in few buckets, others ask about all of them: they are told of a request what was kept of it, or
    /// that it is not there.
    #[test]
    fn threads_start_complete_and_ask() {
        const THREADS: usize = 4;
        let table = table();
        // Handles that share a bucket, so that one slot is many handles' in turn.
        let crowded: Vec<usize> = (1..).filter(|&handle| homes(handle).contains(&7)).take(THREADS * 8).collect();
        let crowded: &'static [usize] = crowded.leak();
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                std::thread::spawn(move || {
                    let own = &crowded[thread * 8..][..4];
                    let mut most = 0;
                    for round in 0..1 << 16 {
                        let handle = own[round % own.len()];
                        table.keep(handle, past(handle));
                        assert!(table.past(handle).is_none_or(|known| known == past(handle)));
                        let other = crowded[round * 7 % crowded.len()];
                        let known = table.past(other);
                        assert!(known.is_none_or(|known| known == past(other)), "of another request: {known:?}");
                        most = most.max(most_probes(table, [handle, other]));
                        if let Some(place) = table.take_out(handle, round, None) {
                            assert_eq!(table.taken(place), Taken { handle, index: round & 0xffff_ffff, next: None });
                            table.put_back(place);
                            complete(table, handle);
                        }
                    }
                    most
                })
            })
            .collect();
        let most = threads.into_iter().map(|thread| thread.join().unwrap()).max().unwrap();
        assert!(most <= 2 * WIDTH, "{most}");
        assert_eq!(table.count.load(Ordering::Relaxed), 0);
    }

    /// Each thread has handles of its own, and finds what it has kept.
    #[test]
    fn threads_with_a_million_handles() {
        const LIVE: usize = 32;
        const EACH: usize = 1 << 18;
        let table = table();
        let work = move |thread: usize| {
            let handle = |number: usize| 0x1000 + 4 * number + thread;
            let mut most = 0;
            for number in 0..EACH + LIVE {
                if number < EACH {
                    table.keep(handle(number), past(number));
                    assert_eq!(table.past(handle(number)), Some(past(number)));
                    most = most.max(most_probes(table, [handle(number), handle(number + 1)]));
                }
                if let Some(old) = number.checked_sub(LIVE) {
                    complete(table, handle(old));
                }
            }
            most
        };
        let threads = [0, 1, 2, 3].map(|thread| std::thread::spawn(move || work(thread)));
        let most = threads.into_iter().map(|thread| thread.join().unwrap()).max().unwrap();
        assert!(most <= 2 * WIDTH, "{most}");
        assert_eq!(table.count.load(Ordering::Relaxed), 0);
    }
}
