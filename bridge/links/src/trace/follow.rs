//! A call among others: which entries (`pending.rs`) it takes out before it goes on, and what it completes, starts or leaves for later.
//!
//! No heap, no lock, no `std` that may panic.
#![expect(unsafe_code, reason = "writes to the record of a call")]

use std::ptr;

use qmpi_abi::trace::{AFTER, PENDING, RECEIVED, SENT, Value};

use crate::bytes;
use crate::probe::{self, Recorder};
use crate::trace::completion::{self, Item, Role, STARTED};
use crate::trace::contents::{Contents, Found, When};
use crate::trace::datatypes::Datatypes;
use crate::trace::log::Log;
use crate::trace::pending::{self, Key, Object, Pending, Room, Taken};
use crate::trace::plan::Plan;
use crate::trace::record::Frame;
use crate::trace::{Settings, Traced};

/// The layer that is the MPI library: all calls arrive there, and what it says of a handle holds for all layers.
const MPI: usize = 1;

/// What is known of a request that a call has made.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Made {
    /// By what it is found.
    Key(Key),
    /// It is complete, and has the handle that all such requests have.
    Complete,
    /// Nothing.
    Unknown,
}

/// A call that is being recorded, or not: `frame.record` is null then.
pub(crate) struct Followed<'a> {
    pub(crate) frame: &'a Frame,
    pub(crate) traced: &'a Traced,
    pub(crate) layer: usize,
    pub(crate) settings: &'a Settings,
    pub(crate) datatypes: &'a Datatypes,
}

impl Followed<'_> {
    /// The layer that makes it.
    fn caller(&self) -> usize {
        self.frame.caller as usize
    }

    /// The layers whose handles the call may have to do with.
    fn callers(&self) -> std::ops::Range<usize> {
        if self.layer == MPI { 0..probe::layers() } else { self.caller()..self.caller() + 1 }
    }

    /// Before the call: takes out what it may complete or start, and returns the first of the list.
    pub(crate) fn before(&self, role: Role) -> u32 {
        let arguments = self.frame.arguments(self.traced);
        let (mut first, mut last): (u32, Option<Taken>) = (0, None);
        let callers = match role {
            Role::Starts(_) => self.caller()..self.caller() + 1,
            _ => self.callers(),
        };
        role.each(&arguments, |item| {
            for caller in callers.clone() {
                pending::take(completion::key(item, caller), |mut taken| {
                    let Some(entry) = taken.entry() else { return };
                    (entry.index, entry.next) = (item.index, 0);
                    match last.as_mut().and_then(Taken::entry) {
                        Some(before) => before.next = taken.number(),
                        None => first = taken.number(),
                    }
                    last = Some(taken);
                });
            }
        });
        let is_last_seen = self.frame.record.is_null() || matches!(role, Role::Forgets(_) | Role::Frees { .. });
        if is_last_seen && first != 0 {
            // What comes of them is not seen.
            each(first, |taken| self.lose(taken, matches!(role, Role::Forgets(_) | Role::Frees { .. })));
            return 0;
        }
        first
    }

    /// After the call.
    pub(crate) fn after(&self, role: Role, first: u32, is_success: bool, recorder: &Recorder, log: &Log) {
        let arguments = self.frame.arguments(self.traced);
        let mut started = 0;
        each(first, |mut taken| {
            let Some(entry) = taken.entry() else { return };
            let status = match role {
                _ if !is_success => None,
                Role::Starts(_) => {
                    started += 1;
                    if started <= STARTED {
                        self.start(entry, role, recorder, log);
                    } else {
                        entry.room = None;
                    }
                    None
                }
                Role::Completes(requests, outcome) => outcome.of(entry.index, &arguments).filter(|_| {
                    // A handle that stays is that of a persistent request, or of one that the call has not completed.
                    let now = bytes::settings().and_then(|known| requests.handle(entry.index, &arguments, known));
                    entry.is_persistent || now != Some(entry.key.handle)
                }),
                Role::Synchronizes { rank, .. } => {
                    rank.is_none_or(|rank| arguments.word(rank) as i32 == entry.rank).then_some(0)
                }
                Role::Ends { status, .. } => Some(status.map_or(0, |status| arguments.word(status))),
                Role::Makes { .. } | Role::Forgets(_) | Role::Frees { .. } => None,
            };
            let is_failed = !is_success && matches!(role, Role::Completes(..) | Role::Ends { .. });
            match status {
                Some(status) => {
                    if entry.key.caller == self.caller() {
                        let status = Some(status).filter(|status| (4096..u64::MAX).contains(status));
                        entry.complete(status, recorder, self.settings, self.datatypes);
                    }
                    self.lose(taken, false);
                }
                None if is_failed => self.lose(taken, false),
                None => taken.put_back(),
            }
        });
    }

    /// It has come to its end, seen or unseen. A persistent request stays, unless it `is_freed`.
    fn lose(&self, mut taken: Taken, is_freed: bool) {
        match taken.entry() {
            Some(entry) if (entry.is_persistent || entry.is_ambiguous) && !is_freed => {
                entry.room = None;
                taken.put_back();
            }
            _ => taken.forget(self.datatypes),
        }
    }

    /// A persistent request is under way.
    fn start(&self, entry: &mut Pending, role: Role, recorder: &Recorder, log: &Log) {
        let Role::Starts(requests) = role else { return };
        let place = requests.place();
        if let Some((bytes, hash)) = entry.sent.read(None, true, self.datatypes) {
            self.add(Value { place, moment: SENT, element: 8, stored: 1, all: bytes }, hash);
        }
        entry.room = None;
        if !entry.received.is_empty() {
            let value = self.add(Value { place, moment: PENDING, element: 8, stored: 1, all: 0 }, 0);
            entry.room = Some(Room::new(value, RECEIVED, log, recorder));
        }
    }

    /// A request was made: what was kept of one with this handle is none of its own.
    pub(crate) fn made(&self, address: u64) -> Made {
        let handle = bytes::settings().and_then(|known| completion::handle_at(address, 0, known));
        let Some(handle) = handle else { return Made::Unknown };
        let item = Item { object: Object::Request, handle, index: 0 };
        let mut made = Made::Key(completion::key(item, self.caller()));
        for caller in self.callers() {
            pending::take(completion::key(item, caller), |mut taken| {
                let Some(entry) = taken.entry() else { return };
                if self.settings.requests.is_known() {
                    return taken.forget(self.datatypes);
                }
                // Two at a time: nothing tells which of them will be complete.
                entry.is_ambiguous = true;
                entry.release(self.datatypes);
                taken.put_back();
                if caller == self.caller() {
                    made = Made::Unknown;
                }
            });
        }
        if self.settings.requests.is_shared(handle) { Made::Complete } else { made }
    }

    /// After a call that has succeeded: adds hashes of what is in its buffers, and keeps what is to come.
    pub(crate) fn add_contents(&self, contents: &Contents, made: Made, recorder: &Recorder, log: &Log) {
        let arguments = self.frame.arguments(self.traced);
        let when = match (contents.later, made) {
            (None, _) => When::Now,
            (Some((Object::Window | Object::File, _)), _) | (_, Made::Key(_)) => When::Later,
            // Of a message there will be no status.
            (_, Made::Complete) if !contents.has_status_later => When::Now,
            _ => When::Never,
        };
        let (mut received, mut sent) = (None, None);
        contents.each(&arguments, recorder, self.datatypes, when, |found| match found {
            Found::Now(content) => {
                let head = Value { place: content.place, moment: AFTER, element: 8, stored: 1, all: content.bytes };
                self.add(head, content.hash);
            }
            Found::Later { is_sent: true, plan, .. } => sent = Some(plan),
            Found::Later { place, plan, .. } => received = Some((place, plan)),
        });
        let Some((object, place)) = contents.later else { return };
        let key = match object {
            Object::Request => match made {
                Made::Key(key) => Some(key),
                Made::Complete | Made::Unknown => None,
            },
            Object::Window | Object::File => bytes::settings().map(|known| {
                let handle = known.handle(arguments.word(place));
                completion::key(Item { object, handle, index: 0 }, self.caller())
            }),
        };
        let Some(key) = key.filter(|_| received.is_some() || sent.is_some()) else { return };
        if object == Object::File {
            // There is one at a time.
            pending::take(key, |taken| taken.forget(self.datatypes));
        }
        let room = received.as_ref().filter(|_| !contents.is_persistent).map(|(place, _)| {
            let value = self.add(Value { place: *place, moment: PENDING, element: 8, stored: 1, all: 0 }, 0);
            Room::new(value, AFTER, log, recorder)
        });
        let entry = Pending {
            key,
            index: 0,
            next: 0,
            has_status: contents.has_status_later,
            is_touched: !contents.has_status_later,
            is_persistent: contents.is_persistent,
            is_ambiguous: false,
            rank: contents.target.map_or(0, |rank| arguments.word(rank) as i32),
            received: received.map_or_else(Plan::default, |(_, plan)| plan),
            sent: sent.unwrap_or_default(),
            room,
        };
        pending::keep(entry, self.datatypes);
    }

    /// Adds a value to the record, and tells where it is.
    fn add(&self, head: Value, hash: u64) -> usize {
        // SAFETY: `begin` has made it.
        let used = unsafe { &raw mut (*self.frame.record).used };
        // SAFETY: as above.
        let place = unsafe { used.read() };
        let address = self.frame.record.expose_provenance() + place as usize;
        let value = ptr::with_exposed_provenance_mut::<Value>(address);
        // SAFETY: there is room for one of each buffer, and of as many requests as are started.
        unsafe { value.write(head) };
        // SAFETY: as above.
        let word = unsafe { value.add(1) };
        // SAFETY: as above.
        unsafe { word.cast::<u64>().write(hash) };
        // SAFETY: as above.
        unsafe { used.write(place + (size_of::<Value>() + 8) as u32) };
        address
    }
}

/// Each of a list, which may be put back or forgotten.
fn each(first: u32, mut tell: impl FnMut(Taken)) {
    let mut next = first;
    while let Some(mut taken) = Taken::of_list(next) {
        next = taken.entry().map_or(0, |entry| entry.next);
        tell(taken);
    }
}
