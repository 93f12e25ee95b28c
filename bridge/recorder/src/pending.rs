//! Buffers that are filled when their call has returned: what completes them, and where the hash is to be then.
//!
//! `MPI_Irecv`, nonblocking collectives, persistent requests, `MPI_Get` and functions of files with `_begin` leave room for a hash in their record, and
//! an entry here. The call that completes it fills the room. An entry is found by the object that completes it, as the layer knows it that has
//! made the call: other layers may have others. While a call is under way that may complete an entry, that call has the entry, as MPI may return
//! the same handle in another thread meanwhile.
//!
//! This is the one place where a call takes a lock and allocates: where contents of buffers were asked for. A signal handler that comes in between
//! is not recorded, so a thread never waits for itself.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use qmpi_abi::FnId;
use qmpi_abi::parameters::{Direction, Kind};
use qmpi_abi::trace::{AFTER, RECEIVED, SENT};

use crate::arguments::{CallArguments, Signature, is_array, is_pointer};
use crate::call_record::{CallRecord, Room};
use crate::contents::{Pieces, TransferredContents};
use crate::mpi::Mpi;
use crate::thread::ThreadMemory;

/// So many hashes of persistent requests one call of `MPI_Startall` has at most, and as many of what they receive.
const STARTED: usize = 64;

/// An object that completes entries, as a layer knows it: its kind, the layer (0 is the program), and its handle.
type Key = (Kind, usize, u64);

/// An entry.
#[derive(Debug)]
struct Pending {
    received: Pieces,
    /// What a persistent request sends.
    sent: Pieces,
    is_persistent: bool,
    /// Whether a status tells how much has come.
    has_status: bool,
    /// The rank that it comes from, of a window.
    rank: i32,
    /// Where the hash is to be; `None`: a persistent request that is not under way.
    room: Option<Room>,
}

static ENTRIES: Mutex<BTreeMap<Key, Vec<Pending>>> = Mutex::new(BTreeMap::new());

/// An entry that a call has which may complete or start it, and which of the call's requests it is of.
#[derive(Debug)]
pub(crate) struct TakenEntry {
    key: Key,
    index: usize,
    entry: Pending,
}

/// What a function does with buffers, and with objects that are under way.
#[derive(Debug)]
pub(crate) struct Transfers {
    contents: Option<TransferredContents>,
    completion: Option<Completion>,
}

/// What a function does with an argument that completes entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Completion {
    action: Action,
    kind: Kind,
    place: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    /// It makes a request.
    Makes,
    /// It starts persistent requests.
    Starts,
    /// It completes requests, or some of them.
    Completes,
    /// It completes what was begun on a window: all of it, or what has to do with a rank.
    Synchronizes,
    /// It completes what was begun on a file.
    Ends,
    /// What becomes of the entries is not seen: the request is freed or cancelled, the window or file comes to its end.
    Forgets,
}

/// A call that is followed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FollowedCall<'a> {
    pub(crate) thread: &'a ThreadMemory,
    pub(crate) caller: usize,
    pub(crate) arguments: CallArguments<'a>,
}

/// Takes out the entries of an object, of a request at most one.
fn take(key: Key) -> Vec<Pending> {
    ENTRIES.lock().unwrap_or_else(PoisonError::into_inner).remove(&key).unwrap_or_default()
}

fn keep(key: Key, entry: Pending) {
    ENTRIES.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().push(entry);
}

impl Pending {
    /// Gives up the datatypes that it holds.
    fn release(mut self, mpi: &Mpi) {
        self.received.release(mpi);
        self.sent.release(mpi);
    }
}

impl Completion {
    /// `None`: the function has nothing to do with what is under way.
    fn of(function: FnId, signature: &Signature) -> Option<Completion> {
        let of_kind = |kind| signature.of_kind(kind).map(|place| (kind, place));
        let (kind, place) = [Kind::Request, Kind::Window, Kind::File].into_iter().find_map(of_kind)?;
        let parameter = signature.parameter(place);
        let begins = |starts: &[&str]| starts.iter().any(|start| function.name().starts_with(start));
        let synchronizes = ["MPI_Win_flush", "MPI_Win_unlock", "MPI_Win_fence", "MPI_Win_complete"];
        let action = match (kind, parameter.direction) {
            (Kind::Request, _) if !is_pointer(parameter) => return None,
            (Kind::Request, Direction::Out) => Action::Makes,
            (Kind::Request, _) if begins(&["MPI_Start"]) => Action::Starts,
            (Kind::Request, _) if begins(&["MPI_Wait", "MPI_Test"]) => Action::Completes,
            (Kind::Request, _) => Action::Forgets,
            (_, Direction::InOut) if is_pointer(parameter) => Action::Forgets,
            (Kind::Window, _) if begins(&synchronizes) => Action::Synchronizes,
            (Kind::File, _) if function.name().ends_with("_end") => Action::Ends,
            _ => return None,
        };
        Some(Completion { action, kind, place })
    }

    /// How many objects a call may complete, start or forget.
    fn count(&self, arguments: &CallArguments) -> usize {
        let signature = arguments.signature;
        if self.action == Action::Makes {
            return 0;
        }
        let count = signature.place(|parameter| parameter.name().ends_with("count"));
        let count = count.filter(|_| is_array(signature.parameter(self.place)));
        count.map_or(1, |place| arguments.number(place) as usize)
    }

    /// The status of an object that a call, which has succeeded, has completed: an address, or 0 for none. `None`: it has not completed it.
    fn status(&self, key: Key, index: usize, entry: &Pending, arguments: &CallArguments) -> Option<u64> {
        let signature = arguments.signature;
        match self.action {
            Action::Makes | Action::Starts | Action::Forgets => return None,
            Action::Synchronizes => {
                let rank = signature.of_kind(Kind::Rank).map(|place| arguments.word(place) as i32);
                return rank.is_none_or(|rank| rank == entry.rank).then_some(0);
            }
            Action::Ends => {
                return Some(signature.of_kind(Kind::Status).and_then(|place| arguments.address(place)).unwrap_or(0));
            }
            // A handle that stays is that of a persistent request, or of one that the call has not completed.
            Action::Completes if entry.is_persistent => {}
            Action::Completes if arguments.handle(self.place, index) == Some(key.2) => return None,
            Action::Completes => {}
        }
        let is_this = |place: u8, element| usize::try_from(arguments.array(place).signed(element)) == Ok(index);
        let index_of = |is_of_array: bool| {
            signature.place(|parameter| parameter.kind == Kind::Index && is_array(parameter) == is_of_array)
        };
        if signature.result(Kind::Flag).is_some_and(|flag| arguments.array(flag).word(0) == 0) {
            return None;
        }
        let place = match (index_of(false), index_of(true), signature.result(Kind::Length)) {
            (Some(place), ..) => is_this(place, 0).then_some(0)?,
            (None, Some(indices), Some(count)) => {
                (0..arguments.array(count).number(0)).find(|element| is_this(indices, *element))?
            }
            _ => index as u64,
        };
        let statuses = signature.result(Kind::Status)?;
        let width = u64::from(signature.width(statuses));
        Some(arguments.address(statuses).map_or(0, |first| first + place * width))
    }
}

impl Transfers {
    /// Of a function; `None`: it has to do with no buffers.
    pub(crate) fn of(function: FnId, signature: &Signature) -> Option<Transfers> {
        let (contents, completion) =
            (TransferredContents::of(function, signature), Completion::of(function, signature));
        (contents.is_some() || completion.is_some()).then_some(Transfers { contents, completion })
    }

    /// How many hashes a record gets at most.
    pub(crate) fn most(&self, arguments: &CallArguments) -> usize {
        let started = self.completion.filter(|completion| completion.action == Action::Starts);
        self.contents.as_ref().map_or(0, |contents| contents.buffers.all.len())
            + started.map_or(0, |started| 2 * started.count(arguments).min(STARTED))
    }

    /// Before the call: takes out what the call may complete or start. What comes of the entries of other layers is not seen where the call is the
    /// end of their object.
    pub(crate) fn take(&self, call: &FollowedCall, is_recorded: bool) -> Vec<TakenEntry> {
        let (arguments, mut taken) = (&call.arguments, Vec::new());
        let Some(completion) = self.completion else { return taken };
        for index in 0..completion.count(arguments) {
            let Some(handle) = arguments.handle(completion.place, index) else { continue };
            let key = (completion.kind, call.caller, handle);
            for entry in take(key) {
                if completion.action == Action::Forgets || !is_recorded && !entry.is_persistent {
                    entry.release(arguments.mpi);
                } else {
                    taken.push(TakenEntry { key, index, entry });
                }
            }
        }
        if !is_recorded {
            taken.drain(..).for_each(|TakenEntry { key, entry, .. }| keep(key, Pending { room: None, ..entry }));
        }
        taken
    }

    /// After the call: hashes of what it has sent and received, and of what it has completed. No record: the call is not recorded.
    pub(crate) fn follow(
        &self,
        call: &FollowedCall,
        taken: Vec<TakenEntry>,
        record: Option<&CallRecord>,
        is_success: bool,
    ) {
        let mpi = call.arguments.mpi;
        for (number, TakenEntry { key, index, mut entry }) in taken.into_iter().enumerate() {
            let completion = self.completion.filter(|_| is_success);
            if let Some((started, record)) = completion.filter(|it| it.action == Action::Starts).zip(record) {
                entry.room = None;
                if number < STARTED {
                    entry.start(started.place, record, call);
                }
            }
            let status = completion.and_then(|completion| completion.status(key, index, &entry, &call.arguments));
            if let (Some(status), Some(room)) = (status, entry.room) {
                let received = Some(status).filter(|status| entry.has_status && *status != 0);
                let received = received.and_then(|status| mpi.received(status));
                if let Some((bytes, hash)) = entry.received.hash(received, mpi) {
                    room.fill(bytes, hash, call.thread);
                }
            }
            let completes = |it: Completion| matches!(it.action, Action::Completes | Action::Ends);
            match status {
                Some(_) if entry.is_persistent => keep(key, Pending { room: None, ..entry }),
                None if is_success || !self.completion.is_some_and(completes) => keep(key, entry),
                _ => entry.release(mpi),
            }
        }
        if is_success {
            let request = self.made_request(call);
            if let Some((contents, record)) = self.contents.as_ref().zip(record) {
                add_contents(contents, call, request, record);
            }
        }
    }

    /// The request that a call has made: what was kept of one with this handle is none of its own.
    fn made_request(&self, call: &FollowedCall) -> Option<u64> {
        let completion = self.completion.filter(|completion| completion.action == Action::Makes)?;
        let handle = call.arguments.handle(completion.place, 0)?;
        forget((Kind::Request, call.caller, handle), call.arguments.mpi);
        Some(handle)
    }
}

fn forget(key: Key, mpi: &Mpi) {
    take(key).into_iter().for_each(|entry| entry.release(mpi));
}

impl Pending {
    /// A persistent request is started: its record gets the hash of what it sends, and room for what it receives.
    fn start(&mut self, request: u8, record: &CallRecord, call: &FollowedCall) {
        if let Some((bytes, hash)) = self.sent.hash(None, call.arguments.mpi) {
            record.add_hash(request, SENT, bytes, hash);
        }
        if !self.received.is_empty() {
            self.room = Some(record.add_room(request, RECEIVED, call.thread));
        }
    }
}

/// Adds hashes of what is in the buffers of a call that has succeeded, and keeps what is to come.
fn add_contents(contents: &TransferredContents, call: &FollowedCall, request: Option<u64>, record: &CallRecord) {
    let (arguments, mpi) = (&call.arguments, call.arguments.mpi);
    let is_persistent = contents.buffers.is_persistent;
    let is_complete = request.is_some_and(|request| mpi.is_complete_request(request));
    // Whether what is received is there now, and whether it is known what completes it. Of a message that is complete there will be no status.
    let (is_there, is_later) = match contents.later {
        None => (true, false),
        Some((Kind::Request, _)) => (is_complete && !contents.has_status_later, request.is_some() && !is_complete),
        Some(_) => (false, true),
    };
    let mut later = [const { None }; 2];
    contents.each(arguments, |mut found| {
        if !is_persistent && (found.is_sent || is_there) {
            if let Some((bytes, hash)) = found.pieces.hash(found.received, mpi) {
                record.add_hash(found.place, AFTER, bytes, hash);
            }
        } else if is_later {
            found.pieces.hold(mpi);
            let place = usize::from(found.is_sent);
            later[place] = Some(found);
        }
    });
    let [received, sent] = later;
    let Some((kind, place)) = contents.later.filter(|_| received.is_some() || sent.is_some()) else { return };
    let handle = if kind == Kind::Request { request } else { arguments.handle(place, 0) };
    let key = (kind, call.caller, handle.unwrap_or(0));
    if kind == Kind::File {
        // There is one at a time.
        forget(key, mpi);
    }
    let begun = received.as_ref().filter(|_| !is_persistent);
    let room = begun.map(|found| record.add_room(found.place, AFTER, call.thread));
    let entry = Pending {
        received: received.map(|found| found.pieces).unwrap_or_default(),
        sent: sent.map(|found| found.pieces).unwrap_or_default(),
        is_persistent,
        has_status: contents.has_status_later,
        rank: contents.target.map_or(0, |rank| arguments.word(rank) as i32),
        room,
    };
    keep(key, entry);
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::mpi::Abi;

    fn of(function: &str) -> Option<(Action, Kind, u8)> {
        let id = FnId::by_name(function).unwrap();
        let completion = Completion::of(id, &Signature::of(id, Abi::Mpich))?;
        Some((completion.action, completion.kind, completion.place))
    }

    #[test]
    fn what_functions_do_with_what_is_under_way() {
        assert_eq!(of("MPI_Irecv"), Some((Action::Makes, Kind::Request, 6)));
        assert_eq!(of("MPI_Start"), Some((Action::Starts, Kind::Request, 0)));
        assert_eq!(of("MPI_Startall"), Some((Action::Starts, Kind::Request, 1)));
        assert_eq!(of("MPI_Request_free"), Some((Action::Forgets, Kind::Request, 0)));
        assert_eq!(of("MPI_Cancel"), Some((Action::Forgets, Kind::Request, 0)));
        assert_eq!((of("MPI_Request_get_status"), of("MPI_Send")), (None, None));
        assert_eq!(of("MPI_Win_fence"), Some((Action::Synchronizes, Kind::Window, 1)));
        assert_eq!(of("MPI_Win_flush_local"), Some((Action::Synchronizes, Kind::Window, 1)));
        assert_eq!(of("MPI_Win_free"), Some((Action::Forgets, Kind::Window, 0)));
        assert_eq!(of("MPI_File_close"), Some((Action::Forgets, Kind::File, 0)));
        assert_eq!(of("MPI_File_read_at_all_end"), Some((Action::Ends, Kind::File, 0)));
        // Every function that completes requests is known as one: by their standard names.
        for id in FnId::all().filter(|id| id.name().starts_with("MPI_Wait") || id.name().starts_with("MPI_Test")) {
            let has_requests = id.parameters().iter().any(|parameter| parameter.kind == Kind::Request);
            assert_eq!(
                of(id.name()).is_some_and(|(action, ..)| action == Action::Completes),
                has_requests,
                "{}",
                id.name()
            );
        }
    }
}
