//! The calls themselves, for `qmpi run --trace`: arguments, result, times, and what arguments point to.
//!
//! All of it goes into a file that is mapped (`qmpi_abi::trace`), so that it is there however the process ends. What a thread records belongs
//! to it alone. The first line of the file says what the words of the calls mean: whose MPI it is, where the variables are that its handles are the
//! addresses of, and where code is, so that the program's calls have places.
#![expect(unsafe_code, reason = "memory that is mapped, and arguments of the program")]

use std::ffi::CString;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use qmpi_abi::FnId;
use qmpi_abi::trace::{
    AFTER, AbiStatus, BEFORE, BEGUN, HEAD, PENDING, RECEIVED, RETURNED, SENT, TracedCall, VERSION, Value,
};

use crate::bytes::argument;
use crate::captures::{self, Capture, OF_STRING};
use crate::contents::{Contents, When};
use crate::interface::Process;
use crate::log::{self, Log};
use crate::mpi::{self, Abi, LOWEST, Mpi};
use crate::pending::{self, Key, Object, Pending, Role, STARTED};
use crate::record::quoted;
use crate::system::{self, ticks};
use crate::thread::Thread;

/// What is asked for, and behind it that what is in buffers is recorded as well.
const VARIABLE: &str = "QMPI_TRACE";
const BUFFERS: &str = ",buffers";

/// Which calls are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    /// So many that each thread makes first at each layer.
    First(u64),
    /// At least so many that each thread makes last at each layer.
    Last(u64),
    /// All.
    All,
}

/// What was asked for, and what the first line of the file says.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) limit: Limit,
    pub(crate) path: CString,
    has_contents: bool,
    calls: String,
    process: Process,
    began: (SystemTime, u64),
}

static SETTINGS: OnceLock<Settings> = OnceLock::new();

/// What was asked for; `None` if nothing.
#[inline]
pub(crate) fn settings() -> Option<&'static Settings> {
    SETTINGS.get()
}

/// Begins the file of this rank, if calls are to be recorded.
pub(crate) fn prepare(process: &Process, directory: &Path) {
    let Some(value) = std::env::var(VARIABLE).ok().filter(|value| !value.is_empty()) else { return };
    let (calls, has_contents) = value.strip_suffix(BUFFERS).map_or((&*value, false), |calls| (calls, true));
    let (Some(limit), Some(_)) = (limit(calls), mpi::get()) else {
        return system::say(&format!(
            "error: {VARIABLE}={value}: it is all, first:N or last:N, and {BUFFERS} may be behind it"
        ));
    };
    // Of a process that was spawned, another one may have the rank.
    let (rank, id) = (process.rank, std::process::id());
    let (plain, with_id) = (directory.join(format!("trace-{rank}.calls")), format!("trace-{rank}.{id}.calls"));
    let path = if plain.exists() { directory.join(with_id) } else { plain };
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return };
    let began = (SystemTime::now(), ticks());
    let settings = Settings { limit, path, has_contents, calls: calls.to_owned(), process: process.clone(), began };
    let begun = std::fs::create_dir_all(directory).and_then(|()| log::start_file(&settings.line(&[], None), &settings));
    match begun {
        // It is prepared once.
        Ok(()) => drop(SETTINGS.set(settings)),
        Err(error) => settings.say(&format!("no calls are recorded: {error}")),
    }
}

/// Completes the file's first line: there is another layer, or the process ends.
pub(crate) fn complete(layers: &[String], is_end: bool) {
    let Some(settings) = settings().filter(|_| !log::is_child()) else { return };
    if let Err(error) = log::start_file(&settings.line(layers, is_end.then(log::lost)), settings) {
        settings.say(&error.to_string());
    }
}

/// `all`, `first:N`, `last:N`.
fn limit(text: &str) -> Option<Limit> {
    match text.split_once(':') {
        None if text == "all" => Some(Limit::All),
        Some(("first", calls)) => calls.parse().ok().map(Limit::First),
        Some(("last", calls)) => calls.parse().ok().map(Limit::Last),
        _ => None,
    }
}

impl Settings {
    fn say(&self, what: &str) {
        system::say(&format!("error: {}: {what}", self.path.to_string_lossy()));
    }

    fn keeps_last(&self) -> bool {
        matches!(self.limit, Limit::Last(_))
    }

    fn line(&self, layers: &[String], lost: Option<u64>) -> String {
        let layers: Vec<String> = layers.iter().map(|label| quoted(label)).collect();
        let (family, objects) = mpi::get().map_or((Abi::Mpich, &[][..]), |mpi| (mpi.abi, &mpi.objects));
        let family = match family {
            Abi::Mpich => "mpich",
            Abi::OpenMpi => "openmpi",
            Abi::Standard => "abi",
        };
        let nanoseconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
        let (rank, size, mpi) = (self.process.rank, self.process.size(), quoted(&self.process.mpi));
        let mut text = format!("{{\"version\":{VERSION},\"rank\":{rank},\"size\":{size}");
        // Writing into a String cannot fail, here and below.
        let _ = write!(text, ",\"process\":{},\"mpi\":{mpi},\"family\":\"{family}\"", std::process::id());
        let _ = write!(text, ",\"calls\":{},\"layers\":[{}]", quoted(&self.calls), layers.join(","));
        let _ = write!(text, ",\"clocks\":[[{},{}]", nanoseconds(self.began.0), self.began.1);
        let _ = write!(text, ",[{},{}]]", nanoseconds(SystemTime::now()), ticks());
        let lost = lost.map_or_else(|| "null".to_owned(), |lost| lost.to_string());
        let objects: Vec<String> = objects.iter().map(|(name, address)| format!("\"{name}\":{address}")).collect();
        let _ = write!(text, ",\"lost\":{lost},\"objects\":{{{}}},\"code\":[", objects.join(","));
        let mut before = "";
        for (start, end, base, path) in code() {
            let entry = format!("{before}[{start},{end},{base},{}]", quoted(&path));
            // The line has to fit into the head.
            if text.len() + entry.len() + 8 > HEAD {
                break;
            }
            text.push_str(&entry);
            before = ",";
        }
        text.push_str("]}\n");
        text
    }
}

/// Where the code of each object is, what is added to its addresses, and its file, as the kernel says: namespaces make no difference to it.
fn code() -> Vec<(usize, usize, usize, String)> {
    /// `e_type` of a program that is loaded where its file says (gABI, ELF Header).
    const AT_FIXED_ADDRESS: u16 = 2;
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let (mut code, mut base) = (Vec::new(), 0);
    for line in maps.lines() {
        // start-end permissions offset device inode path (proc_pid_maps(5))
        let mut words = line.splitn(6, ' ');
        let (Some(range), Some(permissions), Some(offset)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        let path = words.nth(2).unwrap_or_default().trim_start();
        let Some((start, end)) = range.split_once('-') else { continue };
        let [start, end, offset] = [start, end, offset].map(|text| usize::from_str_radix(text, 16).unwrap_or(0));
        if !path.starts_with('/') {
            continue;
        }
        if offset == 0 && permissions.starts_with('r') {
            // SAFETY: the start of an object's first segment, which is there as long as the object.
            let kind = unsafe { ptr::with_exposed_provenance::<u16>(start + 16).read_unaligned() };
            base = if kind == AT_FIXED_ADDRESS { 0 } else { start };
        }
        if permissions.contains('x') {
            code.push((start, end, base, path.to_owned()));
        }
    }
    code
}

/// What is known of a function in order to record its calls.
#[derive(Debug)]
pub(crate) struct Traced {
    /// Bytes of a record without arrays.
    size: usize,
    captures: Vec<Capture>,
    /// Whether there is one whose value is of interest before the call.
    has_before: bool,
    /// What is in buffers, if that was asked for and can be known.
    contents: Option<Contents>,
    /// What it completes or starts, if that was asked for.
    role: Option<Role>,
}

impl Traced {
    /// `None` if calls are not recorded.
    pub(crate) fn of(function: FnId) -> Option<Traced> {
        let (settings, mpi) = (settings()?, mpi::get()?);
        let captures = captures::of(function, mpi.abi);
        Some(Traced {
            size: size_of::<TracedCall>() + 8 * usize::from(function.function().args),
            has_before: captures.iter().any(|capture| capture.before),
            captures,
            contents: if settings.has_contents { Contents::of(function) } else { None },
            role: if settings.has_contents { pending::role(function, mpi.abi) } else { None },
        })
    }

    fn looks_at_buffers(&self) -> bool {
        self.contents.is_some() || self.role.is_some()
    }

    /// Bytes that the record of a call takes at most.
    fn most(&self, arguments: &[u64]) -> usize {
        let of = |capture: &Capture| {
            let moments = usize::from(capture.before) + usize::from(capture.after);
            moments * (size_of::<Value>() + capture.most(arguments))
        };
        let hashes =
            self.contents.as_ref().map_or(0, Contents::most) + self.role.map_or(0, |role| role.most(arguments));
        self.size + self.captures.iter().map(of).sum::<usize>() + hashes * (size_of::<Value>() + 8)
    }
}

/// A call that is to be recorded.
pub(crate) struct Call<'a> {
    pub(crate) thread: &'static Thread,
    pub(crate) traced: &'a Traced,
    pub(crate) function: usize,
    pub(crate) layer: usize,
    pub(crate) caller: usize,
    pub(crate) arguments: &'a [u64],
}

/// A call that is being recorded.
#[derive(Debug)]
pub(crate) struct Open {
    /// Null: it has no record, as it is beyond the limit.
    record: *mut TracedCall,
    /// Of the log, when the call began.
    generation: u64,
    /// What the call may complete or start, and which of its requests each is of.
    taken: Vec<(Key, usize, Pending)>,
}

/// Room for a hash in a record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    value: usize,
    /// What [`Value::moment`] becomes.
    moment: u8,
    log: usize,
    generation: u64,
    thread: u64,
}

impl Open {
    /// The call gets as far as the next function.
    #[inline]
    pub(crate) fn set_start(&self, start: u64) {
        // SAFETY: null, or a record of this thread, which is never unmapped.
        if let Some(record) = unsafe { self.record.as_mut() } {
            record.start = start;
        }
    }
}

impl Call<'_> {
    fn log(&self) -> &'static mut Log {
        // SAFETY: one of the thread's logs, which it alone uses, and not twice at once: `is_recording` is set.
        unsafe { &mut *self.thread.log(self.layer) }
    }

    /// Before the call; `site`: where the program called, 0 if a layer did. `None`: nothing is recorded of it.
    pub(crate) fn begin(&self, site: usize) -> Option<Open> {
        let sequence = self.thread.sequence.load(Ordering::Relaxed);
        self.thread.sequence.store(sequence + 1, Ordering::Relaxed);
        let settings = settings().filter(|_| !log::is_child())?;
        // The handler of a signal that came in here.
        if self.thread.is_recording.swap(1, Ordering::Relaxed) != 0 {
            log::lose();
            return None;
        }
        let traced = self.traced;
        let is_plain = traced.captures.is_empty() && !traced.looks_at_buffers();
        let size = if is_plain { traced.size } else { traced.most(self.arguments) };
        let (log, number) = (self.log(), self.thread.number.load(Ordering::Relaxed));
        let record = log.reserve(number, self.layer as u64, size, settings).unwrap_or(ptr::null_mut());
        let mut open = Open { record, generation: log.generation(), taken: Vec::new() };
        if !record.is_null() {
            let head = TracedCall {
                size: size as u32,
                function: self.function as u16,
                arguments: self.arguments.len() as u8,
                state: BEGUN,
                layer: self.layer as u16,
                caller: self.caller as u16,
                thread: number as u32,
                sequence,
                start: 0,
                end: 0,
                result: 0,
                site: site as u64,
                used: traced.size as u32,
                taken: 0,
            };
            // SAFETY: room for it was reserved.
            unsafe { record.write(head) };
            let words = ptr::with_exposed_provenance_mut::<u64>(record.expose_provenance() + size_of::<TracedCall>());
            // SAFETY: room for it was reserved.
            unsafe { ptr::copy_nonoverlapping(self.arguments.as_ptr(), words, self.arguments.len()) };
            if traced.has_before {
                self.add_values(record, BEFORE);
            }
            log.publish();
        }
        if let (Some(role), Some(mpi)) = (traced.role, mpi::get()) {
            open.taken = self.take(role, record.is_null(), mpi);
        }
        self.thread.is_recording.store(0, Ordering::Relaxed);
        Some(open)
    }

    /// When it has returned.
    pub(crate) fn end(&self, open: Open, end: u64, result: u64, is_success: bool) {
        let Some(settings) = settings().filter(|_| !open.record.is_null()) else {
            if let Some(mpi) = mpi::get().filter(|_| is_success) {
                self.made_request(mpi);
            }
            return;
        };
        let log = self.log();
        // Calls that came in between may have taken its place, where only the last ones are kept.
        if settings.keeps_last() && log.generation() - open.generation > 1 {
            return;
        }
        let is_nested = self.thread.is_recording.swap(1, Ordering::Relaxed);
        let record = open.record;
        if is_success {
            self.add_values(record, AFTER);
        }
        if let Some(mpi) = mpi::get().filter(|_| self.traced.looks_at_buffers()) {
            // It takes its time, which is no layer's.
            let began = ticks();
            self.follow(open.taken, record, is_success, mpi);
            self.thread.leave_out(ticks().wrapping_sub(began));
        }
        // SAFETY: `begin` has made it, and its chunk is never unmapped.
        let record = unsafe { &mut *record };
        (record.end, record.result, record.state) = (end, result, RETURNED);
        log.keep(record, record.used as usize);
        self.thread.is_recording.store(is_nested, Ordering::Relaxed);
    }

    /// Adds a value to the record, whose bytes `write` writes to an address, and says how many; returns where the value is.
    fn add(&self, record: *mut TracedCall, head: Value, write: impl FnOnce(*mut u8) -> usize) -> usize {
        // SAFETY: `begin` has made it.
        let used = unsafe { &mut (*record).used };
        let address = record.expose_provenance() + *used as usize;
        // SAFETY: `most` has counted room for it.
        unsafe { ptr::with_exposed_provenance_mut::<Value>(address).write(head) };
        let bytes = write(ptr::with_exposed_provenance_mut(address + size_of::<Value>()));
        *used += (size_of::<Value>() + bytes.next_multiple_of(8)) as u32;
        address
    }

    /// Adds what arguments point to.
    fn add_values(&self, record: *mut TracedCall, moment: u8) {
        let Some(mpi) = mpi::get() else { return };
        for capture in &self.traced.captures {
            let word = argument(self.arguments, capture.place);
            let is_due = if moment == BEFORE { capture.before } else { capture.after };
            if !is_due || !capture.is_address(word, self.arguments) {
                continue;
            }
            let source = ptr::with_exposed_provenance::<u8>(word as usize);
            let (element, all) = match capture.element {
                0 => (1, length(source)),
                element => (element, capture.count(self.arguments, mpi) as usize),
            };
            let stored = all.min(capture.most(self.arguments) / usize::from(element));
            let head = Value { place: capture.place, moment, element, stored: stored as u32, all: all as u64 };
            self.add(record, head, |target| {
                let bytes = stored * usize::from(element);
                // SAFETY: the function has read or written as much, and there is room for it.
                unsafe { ptr::copy_nonoverlapping(source, target, bytes) };
                if let Some(room) = capture.statuses {
                    // What a function will store there is nothing yet that MPI could be asked about.
                    let known = if moment == AFTER { room.count(stored, self.arguments) } else { 0 };
                    note_statuses(source, target, stored, known, mpi);
                }
                bytes
            });
        }
    }

    /// Adds the hash of a buffer, or room for one that is to come.
    fn add_hash(&self, record: *mut TracedCall, place: u8, moment: u8, bytes: u64, hash: u64) -> usize {
        self.add(record, Value { place, moment, element: 8, stored: 1, all: bytes }, |target| {
            // SAFETY: `most` has counted room for it.
            unsafe { target.cast::<u64>().write(hash) };
            8
        })
    }

    fn add_room(&self, record: *mut TracedCall, place: u8, moment: u8) -> Room {
        let log = self.log();
        let value = self.add_hash(record, place, PENDING, 0, 0);
        let (generation, thread) = (log.generation(), self.thread.number.load(Ordering::Relaxed));
        Room { value, moment, log: ptr::from_ref(log).expose_provenance(), generation, thread }
    }

    fn key(&self, object: Object, handle: u64) -> Key {
        Key { object, caller: self.caller, handle }
    }

    /// Takes out what the call may complete or start. What comes of the entries of other layers is not seen where the call is the end of their object.
    fn take(&self, role: Role, is_unrecorded: bool, mpi: &Mpi) -> Vec<(Key, usize, Pending)> {
        let mut taken = Vec::new();
        let is_end = matches!(role, Role::Forgets(_) | Role::Frees { .. });
        for (object, handle, index) in role.objects(self.arguments, mpi) {
            let key = self.key(object, handle);
            for entry in pending::take(key) {
                if is_end || is_unrecorded && !entry.is_persistent {
                    entry.release(mpi);
                } else {
                    taken.push((key, index, entry));
                }
            }
        }
        if is_unrecorded {
            taken.drain(..).for_each(|(key, _, entry)| pending::keep(key, Pending { room: None, ..entry }));
        }
        taken
    }

    /// After the call: hashes of what it has sent and received, and of what it has completed.
    fn follow(&self, taken: Vec<(Key, usize, Pending)>, record: *mut TracedCall, is_success: bool, mpi: &Mpi) {
        let arguments = self.arguments;
        for (started, (key, index, mut entry)) in taken.into_iter().enumerate() {
            let status = match self.traced.role {
                _ if !is_success => None,
                Some(Role::Starts(requests)) => {
                    entry.room = None;
                    if started < STARTED {
                        if let Some((bytes, hash)) = entry.sent.hash(None, mpi) {
                            self.add_hash(record, requests.array, SENT, bytes, hash);
                        }
                        if !entry.received.is_empty() {
                            entry.room = Some(self.add_room(record, requests.array, RECEIVED));
                        }
                    }
                    None
                }
                Some(Role::Completes(requests, outcome)) => outcome.of(index, arguments).filter(|_| {
                    // A handle that stays is that of a persistent request, or of one that the call has not completed.
                    let now = pending::handle_at(arguments, requests.array, index, mpi);
                    entry.is_persistent || now != Some(key.handle)
                }),
                Some(Role::Synchronizes { rank, .. }) => {
                    rank.is_none_or(|rank| argument(arguments, rank) as i32 == entry.rank).then_some(0)
                }
                Some(Role::Ends { status, .. }) => Some(status.map_or(0, |status| argument(arguments, status))),
                _ => None,
            };
            let is_failed = !is_success && matches!(self.traced.role, Some(Role::Completes(..) | Role::Ends { .. }));
            if let (Some(status), Some(room)) = (status, entry.room) {
                let status = Some(status).filter(|status| entry.has_status && (LOWEST..u64::MAX).contains(status));
                let received = status.and_then(|status| mpi.received(status));
                if let Some((bytes, hash)) = entry.received.hash(received, mpi) {
                    room.fill(bytes, hash, self.thread);
                }
            }
            match status {
                Some(_) if entry.is_persistent => pending::keep(key, Pending { room: None, ..entry }),
                None if !is_failed => pending::keep(key, entry),
                _ => entry.release(mpi),
            }
        }
        if is_success {
            let request = self.made_request(mpi);
            if let Some(contents) = &self.traced.contents {
                self.add_contents(contents, request, record, mpi);
            }
        }
    }

    /// The request that a call has made: what was kept of one with this handle is none of its own.
    fn made_request(&self, mpi: &Mpi) -> Option<u64> {
        let Some(Role::Makes { request }) = self.traced.role else { return None };
        let handle = pending::handle_at(self.arguments, request, 0, mpi)?;
        pending::take(self.key(Object::Request, handle)).into_iter().for_each(|entry| entry.release(mpi));
        Some(handle)
    }

    /// Adds hashes of what is in the buffers of a call that has succeeded, and keeps what is to come.
    fn add_contents(&self, contents: &Contents, request: Option<u64>, record: *mut TracedCall, mpi: &Mpi) {
        let is_complete = request.is_some_and(|request| mpi.is_complete_request(request));
        let when = match contents.later {
            None => When::Now,
            Some((Object::Window | Object::File, _)) => When::Later,
            Some((Object::Request, _)) if request.is_some() && !is_complete => When::Later,
            // Of a message there will be no status.
            Some((Object::Request, _)) if is_complete && !contents.has_status_later => When::Now,
            Some((Object::Request, _)) => When::Never,
        };
        let (mut received, mut sent) = (None, None);
        contents.each(self.arguments, self.thread, mpi, when, |mut found| {
            if !found.is_later {
                if let Some((bytes, hash)) = found.pieces.hash(found.received, mpi) {
                    self.add_hash(record, found.place, AFTER, bytes, hash);
                }
                return;
            }
            found.pieces.hold(mpi);
            if found.is_sent { sent = Some(found) } else { received = Some(found) }
        });
        let Some((object, place)) = contents.later.filter(|_| received.is_some() || sent.is_some()) else { return };
        let handle = match object {
            Object::Request => request.unwrap_or(0),
            Object::Window | Object::File => mpi.handle(argument(self.arguments, place)),
        };
        let key = self.key(object, handle);
        if object == Object::File {
            // There is one at a time.
            pending::take(key).into_iter().for_each(|entry| entry.release(mpi));
        }
        let is_begun = |_: &&crate::contents::Found| !contents.is_persistent;
        let room = received.as_ref().filter(is_begun).map(|found| self.add_room(record, found.place, AFTER));
        let entry = Pending {
            received: received.map(|found| found.pieces).unwrap_or_default(),
            sent: sent.map(|found| found.pieces).unwrap_or_default(),
            is_persistent: contents.is_persistent,
            has_status: contents.has_status_later,
            rank: contents.target.map_or(0, |rank| argument(self.arguments, rank) as i32),
            room,
        };
        pending::keep(key, entry);
    }
}

impl Room {
    fn fill(self, bytes: u64, hash: u64, thread: &Thread) {
        if settings().is_some_and(Settings::keeps_last) {
            // The record's place may have been taken, and its thread may be about to take it.
            let log = ptr::with_exposed_provenance::<Log>(self.log);
            // SAFETY: a log of this thread, if the number is this thread's, and never unmapped.
            let is_there = || unsafe { (*log).generation() } - self.generation <= 1;
            if self.thread != thread.number.load(Ordering::Relaxed) || !is_there() {
                return;
            }
        }
        let value = ptr::with_exposed_provenance_mut::<Value>(self.value);
        // SAFETY: the hash follows the head, in the same record.
        let place = unsafe { value.add(1) };
        // SAFETY: records are never unmapped, and their places are used again only where the last ones are kept.
        unsafe { place.cast::<u64>().write(hash) };
        // SAFETY: the head of the room that the call has left.
        unsafe { (*value).all = bytes };
        // Readers look at the moment first.
        std::sync::atomic::fence(Ordering::Release);
        // SAFETY: the head of the room that the call has left.
        let moment = unsafe { &raw mut (*value).moment };
        // SAFETY: the same head, which is never unmapped.
        unsafe { moment.write_volatile(self.moment) };
    }
}

/// Makes copies of statuses say what MPI says of the first `known` of them.
fn note_statuses(source: *const u8, target: *mut u8, stored: usize, known: usize, mpi: &Mpi) {
    for place in 0..stored {
        // SAFETY: the record has so many copies.
        let copy = unsafe { target.cast::<AbiStatus>().add(place) };
        // SAFETY: a copy in a record of whole words, which nothing else refers to.
        let copy = unsafe { &mut *copy };
        let original = source.expose_provenance() + place * size_of::<AbiStatus>();
        mpi.note_status((place < known).then_some(original as u64), copy);
    }
}

/// How many characters there are before the zero byte; no more than are recorded are looked at.
fn length(text: *const u8) -> usize {
    let is_end = |place: &usize| {
        // SAFETY: the function has read or written the string, whose end is not before here.
        let character = unsafe { text.add(*place) };
        // SAFETY: the same string.
        unsafe { character.read() == 0 }
    };
    (0..OF_STRING).find(is_end).unwrap_or(OF_STRING)
}

/// Memory that a thread records calls of the program into, to which none come, while it measures what that costs.
pub(crate) struct Scratch(Vec<u8>);

impl Scratch {
    /// For so many calls; none if calls are not recorded.
    pub(crate) fn for_calls(calls: usize) -> Scratch {
        /// Bytes that a call takes.
        const ROOM: usize = 128;
        Scratch(if settings().is_some() { vec![0; ROOM * (calls + 1)] } else { Vec::new() })
    }

    /// Records into this memory, from its start.
    pub(crate) fn begin(&mut self, thread: &Thread) {
        if !self.0.is_empty() {
            let number = thread.number.load(Ordering::Relaxed);
            // SAFETY: the thread's log, which it alone uses.
            unsafe { &mut *thread.log(0) }.record_to(number, &mut self.0);
        }
    }

    /// Has recorded nothing.
    pub(crate) fn end(&mut self, thread: &Thread) {
        if !self.0.is_empty() {
            // SAFETY: the thread's log, which it alone uses.
            unsafe { &mut *thread.log(0) }.forget();
        }
        thread.begin();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits() {
        assert_eq!(limit("all"), Some(Limit::All));
        assert_eq!(limit("first:1000"), Some(Limit::First(1000)));
        assert_eq!(limit("last:7"), Some(Limit::Last(7)));
        assert_eq!((limit("7"), limit("last:"), limit("")), (None, None, None));
    }

    #[test]
    fn code_of_the_test() {
        let here = code_of_the_test as *const () as usize;
        let found = code().into_iter().find(|(start, end, ..)| (*start..*end).contains(&here));
        assert!(found.is_some_and(|(start, _, base, path)| base <= start && path.contains("qmpi_recorder")));
    }
}
