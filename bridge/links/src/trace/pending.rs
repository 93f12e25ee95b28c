//! What calls will receive that have returned before it was there: `MPI_Irecv`, nonblocking collectives, persistent requests, `MPI_Get`.
//!
//! A call of that kind leaves room for a hash in its record, and an entry here. The call that completes it fills the room. An entry is found by
//! the object that completes it, a request, a window or a file, as the layer knows it that has made the call: other layers may have others.
//!
//! Entries whose object has come to its end unseen are dropped when MPI returns the same handle again, and those of layers above, which have not
//! seen the end, when the call arrives at MPI that is the end of it. So the room stays empty rather than have a hash of something else.
//!
//! # The table
//! Of a fixed size, open addressing, without a lock, as that of [`crate::requests`]. While a call is under way that may complete an entry,
//! its slot is taken out (`BUSY`), and in a list that begins in the call's record: MPI may return the same handle in another thread meanwhile. What
//! does not fit is not kept, and has no hash.
#![expect(unsafe_code, reason = "memory that threads take turns with")]

use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering, fence};

use qmpi_abi::trace::Value;

use crate::probe::Recorder;
use crate::trace::Settings;
use crate::trace::datatypes::{Datatypes, Memory};
use crate::trace::log::Log;
use crate::trace::plan::Plan;

const SLOTS_LOG: u32 = 16;
const SLOTS: usize = 1 << SLOTS_LOG;
/// Further than so many slots no entry is looked for: of one window there are no more.
const PROBES: usize = 128;

/// What `key` is in a slot without an entry: never used, used before, taken out for a while.
const EMPTY: u64 = 0;
const DELETED: u64 = 1;
const BUSY: u64 = 2;

/// What completes an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Object {
    Request = 0,
    Window = 1,
    File = 2,
}

/// An object as a layer knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) object: Object,
    /// The layer; 0 is the program.
    pub(crate) caller: usize,
    pub(crate) handle: u64,
}

/// An entry.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) key: Key,
    /// Of which of the call's requests it is, while its slot is taken out.
    pub(crate) index: usize,
    /// The next one in the call's list, plus one.
    pub(crate) next: u32,
    /// Whether a status tells how much has come.
    pub(crate) has_status: bool,
    /// Whether MPI writes to all of it in any case.
    pub(crate) is_touched: bool,
    pub(crate) is_persistent: bool,
    /// Several objects have this handle: of which it is, nothing tells.
    pub(crate) is_ambiguous: bool,
    /// The rank that it comes from, of a window.
    pub(crate) rank: i32,
    pub(crate) received: Plan,
    /// What a persistent request sends.
    pub(crate) sent: Plan,
    /// Where the hash is to be; `None`: a persistent request that is not under way.
    pub(crate) room: Option<Room>,
}

/// Room for a hash in a record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    pub(crate) value: usize,
    /// What [`Value::moment`] becomes.
    pub(crate) moment: u8,
    log: usize,
    generation: u64,
    thread: u64,
}

/// A place in the table.
struct Slot {
    key: AtomicU64,
    entry: UnsafeCell<std::mem::MaybeUninit<Pending>>,
}

/// Null: nothing is kept.
static TABLE: AtomicPtr<Slot> = AtomicPtr::new(ptr::null_mut());

/// A slot that was taken out: the caller has it for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Taken(u32);

/// Makes room for entries. Its pages come when they are written to.
pub(crate) fn prepare() {
    if let Some(memory) = Memory::map(SLOTS * size_of::<Slot>()) {
        TABLE.store(ptr::with_exposed_provenance_mut(memory.address()), Ordering::Release);
        // It is never given back.
        std::mem::forget(memory);
    }
}

impl Key {
    /// No key is one of the other values. Addresses of programs leave the upper bits.
    fn word(self) -> u64 {
        1 << 63 | (self.object as u64) << 60 | (self.caller as u64 & 0xfff) << 48 | self.handle & 0xffff_ffff_ffff
    }

    fn slots(self) -> impl Iterator<Item = u32> {
        let hash = self.word().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - SLOTS_LOG);
        (0..PROBES).map(move |step| ((hash as usize + step) % SLOTS) as u32)
    }
}

fn slot(place: u32) -> Option<&'static Slot> {
    let table = TABLE.load(Ordering::Acquire);
    if table.is_null() {
        return None;
    }
    // SAFETY: there are so many.
    let slot = unsafe { table.add(place as usize % SLOTS) };
    // SAFETY: all zero is a slot without an entry; the table is never unmapped.
    Some(unsafe { &*slot })
}

/// Takes out the entries of an object, of a request at most one.
pub(crate) fn take(key: Key, mut tell: impl FnMut(Taken)) {
    let wanted = key.word();
    for place in key.slots() {
        let Some(slot) = slot(place) else { return };
        let found = slot.key.load(Ordering::Acquire);
        if found == EMPTY {
            return;
        }
        if found == wanted && slot.key.compare_exchange(found, BUSY, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            tell(Taken(place));
            if key.object == Object::Request {
                return;
            }
        }
    }
}

/// Keeps an entry; `false`: there is no room, and what it holds was given up.
pub(crate) fn keep(mut entry: Pending, datatypes: &Datatypes) -> bool {
    for place in entry.key.slots() {
        let Some(slot) = slot(place) else { break };
        let free = slot.key.load(Ordering::Relaxed);
        if free > DELETED || slot.key.compare_exchange(free, BUSY, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            continue;
        }
        let key = entry.key.word();
        // SAFETY: it was free, and is this call's now.
        unsafe { slot.entry.get().write(std::mem::MaybeUninit::new(entry)) };
        slot.key.store(key, Ordering::Release);
        return true;
    }
    entry.release(datatypes);
    false
}

impl Taken {
    /// The slot with this number in a list; 0 ends it.
    pub(crate) fn of_list(number: u32) -> Option<Taken> {
        number.checked_sub(1).map(Taken)
    }

    /// Its number in a list.
    pub(crate) fn number(self) -> u32 {
        self.0 + 1
    }

    /// The entry.
    pub(crate) fn entry(&mut self) -> Option<&mut Pending> {
        let entry = slot(self.0)?.entry.get();
        // SAFETY: the slot has an entry and was taken out: nothing else looks at it.
        let entry = unsafe { &mut *entry };
        // SAFETY: as above.
        Some(unsafe { entry.assume_init_mut() })
    }

    /// Puts it back.
    pub(crate) fn put_back(mut self) {
        let key = self.entry().map(|entry| entry.key.word());
        if let (Some(slot), Some(key)) = (slot(self.0), key) {
            slot.key.store(key, Ordering::Release);
        }
    }

    /// Forgets it.
    pub(crate) fn forget(mut self, datatypes: &Datatypes) {
        if let Some(entry) = self.entry() {
            entry.release(datatypes);
        }
        if let Some(slot) = slot(self.0) {
            slot.key.store(DELETED, Ordering::Release);
        }
    }
}

impl Pending {
    /// Gives up what it holds: it will have no hash.
    pub(crate) fn release(&mut self, datatypes: &Datatypes) {
        self.received.release(datatypes);
        self.sent.release(datatypes);
        self.room = None;
    }

    /// It is complete: fills the room with a hash, if that can be known. `status`: the address of what MPI has stored, or a constant.
    pub(crate) fn complete(
        &mut self,
        status: Option<u64>,
        recorder: &Recorder,
        settings: &Settings,
        datatypes: &Datatypes,
    ) {
        let Some(room) = self.room.take() else { return };
        let Some(bytes) = crate::bytes::settings() else { return };
        let received = status.filter(|_| self.has_status).and_then(|status| bytes.statuses.bytes(status));
        if let Some((bytes, hash)) = self.received.read(received, self.is_touched, datatypes) {
            room.fill(bytes, hash, recorder, settings);
        }
    }
}

impl Room {
    /// In a record of this thread's log.
    pub(crate) fn new(value: usize, moment: u8, log: &Log, recorder: &Recorder) -> Self {
        let (generation, thread) = (log.generation(), recorder.number);
        Self { value, moment, log: ptr::from_ref(log).expose_provenance(), generation, thread }
    }

    fn fill(self, bytes: u64, hash: u64, recorder: &Recorder, settings: &Settings) {
        if settings.keeps_last() {
            // The record's place may have been taken, and its thread may be about to take it.
            let log = ptr::with_exposed_provenance::<Log>(self.log);
            // SAFETY: one of the thread's own, if it is this thread, and never unmapped.
            if self.thread != recorder.number || unsafe { (*log).generation() } - self.generation > 1 {
                return;
            }
        }
        let value = ptr::with_exposed_provenance_mut::<Value>(self.value);
        // SAFETY: the room that the call has left; records are never unmapped, and their places are used again only where the last ones are kept.
        let word = unsafe { value.add(1) };
        // SAFETY: as above.
        unsafe { word.cast::<u64>().write(hash) };
        // SAFETY: as above.
        let all = unsafe { &raw mut (*value).all };
        // SAFETY: as above.
        unsafe { all.write(bytes) };
        // Readers look at the moment first.
        fence(Ordering::Release);
        // SAFETY: as above.
        let moment = unsafe { &raw mut (*value).moment };
        // SAFETY: as above.
        unsafe { moment.write_volatile(self.moment) };
    }
}
