//! A link of the chain that measures the calls through it, for `--report`. Without that option there is no such link.
//!
//! What is measured goes into memory of the thread, its `Recorder`: for each link a `Record`, behind it how often each layer was the caller.
//! A thread gets its recorder when it first calls MPI, from the kernel and not from a heap. It is never freed: a later thread goes on with the
//! recorder of one that has ended, so that there are as many as threads at a time.
//!
//! A link gets its place in all recorders when it is first called: of some thousand links some dozen are, and their records lie side by side.
#![expect(unsafe_code, reason = "memory that machine code writes to")]

mod shared;

use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use qmpi_abi::FnId;
pub(crate) use qmpi_abi::counters::Record;
use qmpi_abi::counters::{BUCKETS, Region};

use crate::arch;
use crate::bytes::Bytes;
use crate::bytes::sizes::Known;
use crate::conversion::Arity;
use crate::error::StubError;
use crate::thread_offsets;
use crate::trace::{self, Call, Traced};
use crate::trampoline;
pub use shared::{describe, finish, layout, share};

/// A link that measures.
#[derive(Debug)]
#[repr(C)]
pub struct Probe {
    pub(crate) target: usize,
    /// Bytes from a recorder's start to the record; 0 until the first call.
    pub(crate) place: AtomicUsize,
    /// The layer that is called.
    pub(crate) layer: usize,
    pub(crate) stack_words: usize,
    /// Ticks that it adds to its caller's time: they count as time below the caller.
    pub(crate) outside: u64,
    /// How bytes are counted, if arguments tell.
    pub(crate) bytes: Option<&'static Bytes>,
    /// The link's own address, and where it leads.
    link: AtomicUsize,
    leads_to: OnceLock<&'static AtomicUsize>,
    function: Option<FnId>,
    /// What is recorded of each call, if anything is.
    pub(crate) traced: Option<&'static Traced>,
}

/// The memory of one thread. Records follow.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Recorder {
    /// What it is, where it is in a file.
    pub(crate) region: Region,
    /// Time inside of calls that the current call has made.
    pub(crate) inner_time: u64,
    /// The layer whose code runs; 0 is the program.
    pub(crate) layer: usize,
    /// The thread, as the kernel numbers it.
    thread: AtomicI32,
    next: *const Recorder,
    /// The thread's number, in the order of first calls.
    pub(crate) number: u64,
    /// How many calls it has made, where calls are recorded.
    pub(crate) sequence: u64,
    /// Not 0 while a call is being recorded.
    pub(crate) is_recording: u64,
    /// Where its logs are, one for each layer.
    pub(crate) logs: usize,
    /// Sizes of datatypes that the thread has asked for.
    pub(crate) sizes: Known,
}

/// How recorders are laid out. Both are 0 unless there are probes.
static CALLERS: AtomicUsize = AtomicUsize::new(0);
static CAPACITY: AtomicUsize = AtomicUsize::new(0);
static TAKEN: AtomicUsize = AtomicUsize::new(0);
/// Whose records they are, in their order; null: nobody's yet.
static OWNERS: OnceLock<Box<[AtomicPtr<Probe>]>> = OnceLock::new();
/// How many records are taken, or a little less.
static PLACED: AtomicUsize = AtomicUsize::new(0);
/// Ticks of a probe that its caller would have, of one that counts bytes and of others.
static OUTSIDE: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
/// All recorders: a list that only grows.
static RECORDERS: AtomicPtr<Recorder> = AtomicPtr::new(ptr::null_mut());
/// Threads that have called MPI so far.
static NUMBERS: AtomicU64 = AtomicU64::new(0);
/// Threads that got none, as the kernel had no memory.
static WITHOUT: AtomicU64 = AtomicU64::new(0);

/// Numbers of all threads together, times in ticks.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Calls by the layer that called, 0 being the program.
    pub callers: Vec<u64>,
    /// Time from call to return.
    pub inclusive: u64,
    /// The same without the time in links that the layer called meanwhile.
    pub own: u64,
    /// The longest call.
    pub longest: u64,
    /// How many calls took a time of so many bits and one more.
    pub histogram: Vec<u64>,
    /// Bytes that the calls of each layer sent and received.
    pub bytes: Vec<[u64; 2]>,
}

/// What probes add to times, in ticks.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    /// To the time that they measure.
    pub inside: f64,
    /// To their caller's, which is taken off from now on.
    pub outside: u64,
    /// The same of those that count bytes.
    pub outside_with_bytes: u64,
}

/// Makes room for so many layers, the program among them, and links.
pub fn prepare(layers: usize, links: usize) {
    CALLERS.store(layers, Ordering::Relaxed);
    CAPACITY.store(links, Ordering::Relaxed);
    OWNERS.get_or_init(|| (0..links).map(|_| AtomicPtr::new(ptr::null_mut())).collect());
}

/// Measures what probes add to times, with a function that does nothing; the quickest of some rounds counts, as the others were disturbed.
///
/// # Errors
/// When no further stubs can be mapped.
pub fn measure_own_cost() -> Result<Cost, StubError> {
    // Where calls are recorded, that of a function with as many arguments as many have.
    let Some(function) = FnId::by_name("MPI_Send") else { return Ok(Cost::default()) };
    let call = Call { function, leading: 0 };
    let (inside, outside) = measure(Traced::without_contents(call), None)?;
    let with_bytes = match Bytes::of(function, 0) {
        Some(bytes) => measure(Traced::without_contents(call), Some(bytes))?.1,
        None => outside,
    };
    OUTSIDE[0].store(outside, Ordering::Relaxed);
    OUTSIDE[1].store(with_bytes, Ordering::Relaxed);
    Ok(Cost { inside, outside, outside_with_bytes: with_bytes })
}

/// What such a probe adds inside and outside of the time that it measures.
fn measure(traced: Option<&'static Traced>, bytes: Option<&'static Bytes>) -> Result<(f64, u64), StubError> {
    extern "C" fn nothing(_: usize, _: u64, _: u64) -> i32 {
        0
    }
    const CALLS: u32 = 1000;
    const ROUNDS: u32 = 30;
    let target = (nothing as *const ()).addr();
    let Some((probe, link)) = Probe::with(target, Arity::Fixed(0), 0, traced, bytes, None)? else {
        return Ok((0.0, 0));
    };
    // SAFETY: the link of that function.
    let call = unsafe { std::mem::transmute::<usize, extern "C" fn(usize, u64, u64) -> i32>(link) };
    // The thread's first call is another one. No calls come to the program, whose log serves for this.
    let Some(recorder) = of_this_thread().or_else(for_this_thread) else { return Ok((0.0, 0)) };
    arch::set_recorder(thread_offsets::RECORDER.load(Ordering::Relaxed), ptr::from_ref(recorder).addr());
    // MPI cannot be asked yet.
    let datatype = 1;
    recorder.sizes.set(datatype, 4);
    let mut memory = if traced.is_some() { vec![0; trace::ROOM * (CALLS as usize + 1)] } else { Vec::new() };
    let (mut best, mut best_inside) = (u64::MAX, 0);
    for _ in 0..ROUNDS {
        trace::record_to(&mut memory);
        let (inside, began) = (probe.measured().inclusive, ticks());
        for _ in 0..CALLS {
            call(0, 1, datatype);
        }
        let all = ticks().wrapping_sub(began);
        if all < best {
            (best, best_inside) = (all, probe.measured().inclusive.wrapping_sub(inside));
        }
    }
    trace::record_to(&mut []);
    recorder.sizes.set(datatype, 0);
    Ok((best_inside as f64 / f64::from(CALLS), best.saturating_sub(best_inside) / u64::from(CALLS)))
}

/// How many threads could not be measured.
pub fn threads_without() -> u64 {
    WITHOUT.load(Ordering::Relaxed)
}

/// How many recorders there are: threads that called MPI at a time.
pub fn threads() -> usize {
    recorders().count()
}

/// The time-stamp counter.
#[must_use]
pub fn ticks() -> u64 {
    arch::ticks()
}

/// Counts a time of this thread as one below the layer whose code runs: it is not the layer's.
pub fn leave_out(ticks: u64) {
    if let Some(recorder) = of_this_thread() {
        recorder.leave_out(ticks);
    }
}

/// How many layers there are, the program among them.
pub(crate) fn layers() -> usize {
    CALLERS.load(Ordering::Relaxed)
}

/// Where the logs of a recorder's calls begin, behind its records.
pub(crate) fn logs_offset() -> usize {
    size_of::<Recorder>() + CAPACITY.load(Ordering::Relaxed) * record_size()
}

/// Bytes of a record with its callers.
fn record_size() -> usize {
    size_of::<Record>() + (8 + 16) * CALLERS.load(Ordering::Relaxed)
}

impl Probe {
    /// Makes a link that measures calls of `target`, a function of `layer`. Returns its address, too; `None` if there is no room, or the number
    /// of arguments is unknown: a frame needs it.
    ///
    /// # Errors
    /// When no further stubs can be mapped.
    pub fn before(target: usize, arity: Arity, layer: usize) -> Result<Option<(&'static Probe, usize)>, StubError> {
        Probe::with(target, arity, layer, None, None, None)
    }

    /// The same for calls of a function whose bytes are counted ([`crate::bytes::prepare`]), and that are recorded, if that was asked for
    /// ([`trace::prepare`]).
    ///
    /// # Errors
    /// When no further stubs can be mapped.
    pub fn recording(
        target: usize,
        arity: Arity,
        layer: usize,
        call: Call,
    ) -> Result<Option<(&'static Probe, usize)>, StubError> {
        let bytes = Bytes::of(call.function, call.leading);
        Probe::with(target, arity, layer, Traced::new(call), bytes, Some(call.function))
    }

    fn with(
        target: usize,
        arity: Arity,
        layer: usize,
        traced: Option<&'static Traced>,
        bytes: Option<&'static Bytes>,
        function: Option<FnId>,
    ) -> Result<Option<(&'static Probe, usize)>, StubError> {
        let Arity::Fixed(words) = arity else { return Ok(None) };
        if layer >= CALLERS.load(Ordering::Relaxed)
            || TAKEN.fetch_add(1, Ordering::Relaxed) >= CAPACITY.load(Ordering::Relaxed)
        {
            return Ok(None);
        }
        let stack_words = usize::from(words).saturating_sub(arch::ARGUMENT_REGISTERS);
        let outside = OUTSIDE[usize::from(bytes.is_some())].load(Ordering::Relaxed);
        let (place, link) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let leads_to = OnceLock::new();
        let probe = Probe { target, place, layer, stack_words, outside, bytes, link, leads_to, function, traced };
        let probe: &Probe = Box::leak(Box::new(probe));
        let (link, leads_to) = trampoline::allocate_changeable(arch::unplaced_probe, probe)?;
        // Nobody else has seen it.
        let _ = probe.leads_to.set(leads_to);
        probe.link.store(link, Ordering::Release);
        Ok(Some((probe, link)))
    }

    /// Takes a place in all recorders, unless it has one. Threads that come here at once take the same place, and none waits for another.
    fn take_place(&self) {
        let owners = OWNERS.get().map(|owners| &**owners).unwrap_or_default();
        let first = PLACED.load(Ordering::Acquire);
        if self.place.load(Ordering::Acquire) == 0 {
            let this = ptr::from_ref(self).cast_mut();
            let is_mine = |owner: &AtomicPtr<Probe>| {
                let taken = owner.compare_exchange(ptr::null_mut(), this, Ordering::AcqRel, Ordering::Acquire);
                taken.is_ok() || taken == Err(this)
            };
            // There is one for each link.
            let Some(free) = owners.iter().skip(first).position(is_mine) else { return };
            if let Some(function) = self.function {
                shared::place(first + free, self.layer, function);
            }
            self.place.store(size_of::<Recorder>() + (first + free) * record_size(), Ordering::Release);
            PLACED.fetch_max(first + free + 1, Ordering::AcqRel);
        }
        let stub = match (self.traced, self.bytes) {
            (Some(_), _) => arch::traced_probe,
            (None, Some(_)) => arch::bytes_probe,
            (None, None) => arch::probe,
        };
        if let Some(leads_to) = self.leads_to.get() {
            leads_to.store(stub as usize, Ordering::Release);
        }
    }

    /// The bytes that a caller has sent and received, in the record of a thread.
    #[inline]
    pub(crate) fn bytes_of(&self, recorder: &Recorder, caller: usize) -> *mut [u64; 2] {
        let record = ptr::from_ref(recorder).expose_provenance() + self.place.load(Ordering::Relaxed);
        let bytes = record + size_of::<Record>() + 8 * CALLERS.load(Ordering::Relaxed);
        ptr::with_exposed_provenance_mut(bytes + 16 * caller)
    }

    /// What all threads have measured so far. Threads that go on meanwhile may be ahead by a call.
    pub fn measured(&self) -> Measured {
        let layers = CALLERS.load(Ordering::Relaxed);
        let mut all = Measured {
            callers: vec![0; layers],
            inclusive: 0,
            own: 0,
            longest: 0,
            histogram: vec![0; BUCKETS],
            bytes: vec![[0; 2]; layers],
        };
        let place = self.place.load(Ordering::Acquire);
        if place == 0 {
            return all;
        }
        for recorder in recorders() {
            let address = ptr::from_ref(recorder).expose_provenance() + place;
            let record = ptr::with_exposed_provenance::<Record>(address);
            // SAFETY: recorders have room for all links, and are never freed; the thread may write to it meanwhile, whole words.
            let Record { inclusive, own, longest, histogram } = unsafe { record.read_volatile() };
            all.inclusive += inclusive;
            // A caller that was left by an exception has not taken its callees' time off.
            all.own = all.own.wrapping_add(own);
            all.longest = all.longest.max(longest);
            for (sum, count) in all.histogram.iter_mut().zip(histogram) {
                *sum += u64::from(count);
            }
            let callers = ptr::with_exposed_provenance::<u64>(address + size_of::<Record>());
            for (caller, sum) in all.callers.iter_mut().enumerate() {
                // SAFETY: as above: as many words as there are layers follow each record.
                let count = unsafe { callers.add(caller) };
                // SAFETY: as above.
                *sum += unsafe { count.read_volatile() };
            }
            for (caller, sums) in all.bytes.iter_mut().enumerate() {
                // SAFETY: as above: two words for each layer follow those.
                let [sent, received] = unsafe { self.bytes_of(recorder, caller).read_volatile() };
                *sums = [sums[0].wrapping_add(sent), sums[1].wrapping_add(received)];
            }
        }
        all
    }
}

/// The thread's first call, or the first one through a probe; returns where the call goes on.
pub(crate) extern "C" fn first_call(probe: &Probe) -> usize {
    probe.take_place();
    if arch::recorder(thread_offsets::RECORDER.load(Ordering::Relaxed)) != 0 {
        return probe.link.load(Ordering::Acquire);
    }
    match for_this_thread() {
        Some(recorder) => {
            arch::set_recorder(thread_offsets::RECORDER.load(Ordering::Relaxed), ptr::from_ref(recorder).addr());
            probe.link.load(Ordering::Acquire)
        }
        None => {
            WITHOUT.fetch_add(1, Ordering::Relaxed);
            probe.target
        }
    }
}

/// The recorder that the calling thread has, if it has called MPI.
pub(crate) fn of_this_thread() -> Option<&'static Recorder> {
    let this = qmpi_system::thread::number();
    recorders().find(|recorder| recorder.thread.load(Ordering::Relaxed) == this)
}

/// Memory that is zero, and that the kernel takes nothing for until it is written to.
fn map_memory(bytes: usize) -> Option<*mut libc::c_void> {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: new addresses, chosen by the kernel.
    let memory = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags | libc::MAP_NORESERVE, -1, 0) };
    (memory != libc::MAP_FAILED).then_some(memory)
}

fn recorders() -> impl Iterator<Item = &'static Recorder> {
    // SAFETY: null, or a recorder, which is never freed.
    let first = unsafe { RECORDERS.load(Ordering::Acquire).as_ref() };
    // SAFETY: as above.
    std::iter::successors(first, |recorder| unsafe { recorder.next.as_ref() })
}

/// The recorder of a thread that has ended, or a new one.
fn for_this_thread() -> Option<&'static Recorder> {
    let this = qmpi_system::thread::number();
    let recorder = recorders().find(|recorder| recorder.take_over(this)).or_else(|| Recorder::map(this))?;
    recorder.begin();
    Some(recorder)
}

impl Recorder {
    /// Whether its thread has ended and `this` has it now.
    fn take_over(&self, this: i32) -> bool {
        let thread = self.thread.load(Ordering::Relaxed);
        // SAFETY: signal 0 only asks whether the thread is there.
        let has_ended = unsafe { libc::syscall(libc::SYS_tgkill, std::process::id(), thread, 0) } != 0;
        has_ended && self.thread.compare_exchange(thread, this, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// The thread that has it now begins.
    fn begin(&self) {
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let recorder = ptr::from_ref(self).cast_mut();
        // SAFETY: a recorder, never freed.
        let place = unsafe { &raw mut (*recorder).number };
        // SAFETY: it is this thread's alone, as any that machine code writes to.
        unsafe { place.write(number) };
        self.begin_again();
    }

    /// Counts a time as one below the layer whose code runs.
    pub(crate) fn leave_out(&self, ticks: u64) {
        let inner_time = ptr::from_ref(&self.inner_time).cast_mut();
        // SAFETY: recorders are never freed, and this thread alone writes to its word.
        let so_far = unsafe { inner_time.read_volatile() };
        // SAFETY: as above; the memory was mapped to be written.
        unsafe { inner_time.write_volatile(so_far.wrapping_add(ticks)) };
    }

    /// It has recorded no call.
    pub(crate) fn begin_again(&self) {
        let recorder = ptr::from_ref(self).cast_mut();
        // SAFETY: as above.
        let sequence = unsafe { &raw mut (*recorder).sequence };
        // SAFETY: as above.
        unsafe { sequence.write(0) };
        // SAFETY: as above.
        let is_recording = unsafe { &raw mut (*recorder).is_recording };
        // SAFETY: as above.
        unsafe { is_recording.write(0) };
    }

    fn map(this: i32) -> Option<&'static Recorder> {
        let len = logs_offset() + trace::logs_size(CALLERS.load(Ordering::Relaxed));
        let recorder = map_memory(len)?.cast::<Recorder>();
        shared::cover(recorder, len);
        // SAFETY: mapped just now, all zero or a region of the file, which is the first field.
        let region = unsafe { recorder.cast::<Region>().read() };
        let mut next = RECORDERS.load(Ordering::Acquire);
        loop {
            let thread = AtomicI32::new(this);
            let logs = recorder.expose_provenance() + logs_offset();
            let fresh = Recorder {
                region,
                inner_time: 0,
                layer: 0,
                thread,
                next,
                number: 0,
                sequence: 0,
                is_recording: 0,
                logs,
                sizes: Known::default(),
            };
            // SAFETY: mapped just now, large enough, and known to this thread alone.
            unsafe { recorder.write(fresh) };
            match RECORDERS.compare_exchange(next, recorder, Ordering::AcqRel, Ordering::Acquire) {
                // SAFETY: written above and never freed.
                Ok(_) => return unsafe { recorder.as_ref() },
                Err(other) => next = other,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::sync::Mutex;

    use super::*;

    /// What `prepare` sets is one for the process.
    static LAYOUT: Mutex<()> = Mutex::new(());

    type Words20 = extern "C" fn(
        u64,
        u64,
        u64,
        u64,
        u64,
        u64,
        u64,
        u64,
        u64,
        u64,
        u64,
        u64,
        u64,
        u64,
        u64,
        u64,
        u64,
        u64,
        u64,
        u64,
    ) -> u64;

    /// Each word at its own place of the sum.
    #[rustfmt::skip]
    extern "C" fn sum20(
        a: u64, b: u64, c: u64, d: u64, e: u64, f: u64, g: u64, h: u64, i: u64, j: u64,
        k: u64, l: u64, m: u64, n: u64, o: u64, p: u64, q: u64, r: u64, s: u64, t: u64,
    ) -> u64 {
        [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t].iter().zip(1..).map(|(word, place)| word * place).sum()
    }

    extern "C" fn seven(a: u64, b: u64, c: u64, d: u64, e: u64, f: u64, g: u64) -> f64 {
        [a, b, c, d, e, f, g].iter().zip(1_u32..).map(|(word, place)| *word as f64 * f64::from(place)).sum()
    }

    fn probe(target: *const (), words: u8, layer: usize) -> (&'static Probe, usize) {
        prepare(4, 10_000);
        Probe::before(target.addr(), Arity::Fixed(words), layer).unwrap().unwrap()
    }

    #[test]
    fn arguments_and_results_pass() {
        let _layout = LAYOUT.lock();
        let (counted, link) = probe(sum20 as *const (), 20, 1);
        // SAFETY: the link of that function.
        let call = unsafe { std::mem::transmute::<usize, Words20>(link) };
        let w: Vec<u64> = (0..20).map(|place| 3 + place * place).collect();
        let expected: u64 = w.iter().zip(1..).map(|(word, place)| word * place).sum();
        for _ in 0..100 {
            let sum = call(
                w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13], w[14], w[15],
                w[16], w[17], w[18], w[19],
            );
            assert_eq!(sum, expected);
        }
        let measured = counted.measured();
        assert_eq!(measured.callers, [100, 0, 0, 0]);
        assert_eq!(measured.histogram.iter().sum::<u64>(), 100);
        assert!(measured.longest > 0 && measured.longest <= measured.inclusive);
        assert_eq!(measured.own, measured.inclusive, "it calls nothing");

        let (_, link) = probe(seven as *const (), 7, 1);
        // SAFETY: the link of that function.
        let call =
            unsafe { std::mem::transmute::<usize, extern "C" fn(u64, u64, u64, u64, u64, u64, u64) -> f64>(link) };
        assert!((call(1, 2, 3, 4, 5, 6, 7) - 140.0).abs() < 1e-9);
    }

    static INNER: AtomicUsize = AtomicUsize::new(0);

    fn spin(ticks: u64) {
        let began = super::ticks();
        while super::ticks().wrapping_sub(began) < ticks {}
    }

    const TIME: u64 = 200_000;

    extern "C" fn inner() {
        spin(TIME);
    }

    /// Calls ten times down, and takes as long as one of these calls itself.
    extern "C" fn outer() {
        spin(TIME);
        // SAFETY: the link of that function.
        let call = unsafe { std::mem::transmute::<usize, extern "C" fn()>(INNER.load(Ordering::Relaxed)) };
        (0..10).for_each(|_| call());
    }

    #[test]
    fn time_belongs_to_the_layer_that_spends_it() {
        let _layout = LAYOUT.lock();
        let (below, link) = probe(inner as *const (), 0, 1);
        INNER.store(link, Ordering::Relaxed);
        let (above, link) = probe(outer as *const (), 0, 2);
        // SAFETY: the link of that function.
        let call = unsafe { std::mem::transmute::<usize, extern "C" fn()>(link) };
        (0..5).for_each(|_| call());
        let (above, below) = (above.measured(), below.measured());
        assert_eq!((above.callers, below.callers), (vec![5, 0, 0, 0], vec![0, 0, 50, 0]), "who calls");
        let outside = 50 * OUTSIDE[0].load(Ordering::Relaxed);
        assert_eq!(above.own, above.inclusive - below.inclusive - outside, "time below is not the caller's");
        assert!(above.own >= 5 * TIME && below.own >= 50 * TIME);
    }

    #[test]
    fn threads_go_on_with_recorders_of_threads_that_ended() {
        let _layout = LAYOUT.lock();
        let (counted, link) = probe(inner as *const (), 0, 3);
        let call = move || {
            // SAFETY: the link of that function.
            let call = unsafe { std::mem::transmute::<usize, extern "C" fn()>(link) };
            call();
        };
        let before = threads();
        for _ in 0..20 {
            std::thread::spawn(call).join().unwrap();
            // The kernel's thread ends a moment after the join.
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        assert!(threads() <= before + 3, "{} recorders more", threads() - before);
        std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(move || (0..50).for_each(|_| call())))));
        assert_eq!(counted.measured().callers[0], 220);
    }

    #[test]
    fn no_room_no_probe() {
        let _layout = LAYOUT.lock();
        prepare(4, 10_000);
        assert!(Probe::before(1, Arity::Variadic, 1).unwrap().is_none());
        assert!(Probe::before(1, Arity::Fixed(1), 4).unwrap().is_none());
    }
}
