//! Buffers that are filled when their call has returned: the requests that they come with, and where their hashes are to be then.
//!
//! `MPI_Irecv`, nonblocking collectives and others that make a request leave room for a hash in their record, and an entry here. The call that completes
//! the request fills the room. An entry is found by the request, as the layer knows it that has made the call: other layers may have others. While
//! a call is under way that may complete a request, that call has the entry, as MPI may return the same handle in another thread meanwhile.
//! Persistent requests have no entries.
//!
//! This is the one place where a call takes a lock and allocates: where contents of buffers were asked for. A signal handler that comes in between
//! is not recorded, so a thread never waits for itself.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use qmpi_abi::parameters::{Direction, Kind};
use qmpi_abi::trace::AFTER;

use crate::arguments::{CallArguments, Signature, is_array, is_pointer};
use crate::call_record::{CallRecord, Room};
use crate::contents::{Arrival, Pieces, TransferredContents};

/// A request as a layer knows it: the layer (0 is the program), and its handle.
type Request = (usize, u64);

/// What is to be read when a request is complete.
#[derive(Debug)]
struct Pending {
    pieces: Pieces,
    /// Whether a status tells how much has come.
    has_status: bool,
    /// Where the hash is to be.
    room: Room,
}

static ENTRIES: Mutex<BTreeMap<Request, Pending>> = Mutex::new(BTreeMap::new());

/// An entry that a call has which may complete it, and which of the call's requests it is of.
#[derive(Debug)]
pub(crate) struct TakenEntry {
    request: Request,
    index: usize,
    entry: Pending,
}

/// What a function does with buffers, and with requests that are under way.
#[derive(Debug)]
pub(crate) struct Transfers {
    contents: Option<TransferredContents>,
    /// What it does with requests, and which argument these are.
    requests: Option<(Action, u8)>,
}

/// What a function does with requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    /// It makes one.
    Makes,
    /// It completes them, or some of them.
    Completes,
    /// What becomes of the entry is not seen: the request is freed or cancelled.
    Forgets,
}

fn entries() -> MutexGuard<'static, BTreeMap<Request, Pending>> {
    ENTRIES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Action {
    /// With the argument; `None`: the function has nothing to do with requests that are under way.
    fn of(signature: &Signature) -> Option<(Action, u8)> {
        let place = signature.of_kind(Kind::Request)?;
        let parameter = signature.parameter(place);
        let begins = |starts: &[&str]| starts.iter().any(|start| signature.function.name().starts_with(start));
        let action = match parameter.direction {
            _ if !is_pointer(parameter) || begins(&["MPI_Start"]) => return None,
            Direction::Out => Action::Makes,
            _ if begins(&["MPI_Wait", "MPI_Test"]) => Action::Completes,
            _ => Action::Forgets,
        };
        Some((action, place))
    }
}

impl Transfers {
    /// Of a function; `None`: it has to do with no buffers.
    pub(crate) fn of(signature: &Signature) -> Option<Transfers> {
        let (contents, requests) = (TransferredContents::of(signature), Action::of(signature));
        (contents.is_some() || requests.is_some()).then_some(Transfers { contents, requests })
    }

    /// How many hashes a record gets at most.
    pub(crate) fn most(&self) -> usize {
        self.contents.as_ref().map_or(0, |contents| contents.buffers.all.len())
    }

    /// Before the call: takes out what the call may complete. What becomes of the entries is not seen where the call is not recorded.
    pub(crate) fn take(&self, call: &CallArguments, is_recorded: bool) -> Vec<TakenEntry> {
        let mut taken = Vec::new();
        let Some((action @ (Action::Completes | Action::Forgets), place)) = self.requests else { return taken };
        let count = call.signature.place(|parameter| parameter.name().ends_with("count"));
        let count = count.filter(|_| is_array(call.signature.parameter(place)));
        for index in 0..count.map_or(1, |count| call.number(count) as usize) {
            let Some(handle) = call.handle(place, index) else { continue };
            let request = (call.caller, handle);
            let Some(entry) = entries().remove(&request) else { continue };
            if action == Action::Forgets || !is_recorded {
                entry.pieces.release(call.mpi);
            } else {
                taken.push(TakenEntry { request, index, entry });
            }
        }
        taken
    }

    /// After the call: hashes of what it has sent and received, and of what it has completed. No record: the call is not recorded.
    pub(crate) fn follow(
        &self,
        call: &CallArguments,
        taken: Vec<TakenEntry>,
        record: Option<&CallRecord>,
        is_success: bool,
    ) {
        let mpi = call.mpi;
        for TakenEntry { request, index, entry } in taken {
            let place = self.requests.map_or(0, |(_, place)| place);
            let completed = if is_success { completed(call, place, request.1, index) } else { None };
            if is_success && completed.is_none() {
                entries().insert(request, entry);
                continue;
            }
            if let Some(status) = completed {
                let received = status.filter(|_| entry.has_status).and_then(|status| mpi.received(status));
                if let Some((bytes, hash)) = entry.pieces.hash(received, mpi) {
                    entry.room.fill(bytes, hash, call.thread);
                }
            }
            entry.pieces.release(mpi);
        }
        if !is_success {
            return;
        }
        let made = self.requests.filter(|(action, _)| *action == Action::Makes);
        let request = made.and_then(|(_, place)| call.handle(place, 0));
        // What was kept of one with this handle is none of its own.
        let old = request.and_then(|request| entries().remove(&(call.caller, request)));
        old.into_iter().for_each(|entry| entry.pieces.release(mpi));
        if let Some((contents, record)) = self.contents.as_ref().zip(record) {
            add_contents(contents, call, request, record);
        }
    }
}

/// Whether a call, which has succeeded, has completed a request: with the status of it, if there is one.
fn completed(call: &CallArguments, requests: u8, handle: u64, index: usize) -> Option<Option<u64>> {
    let signature = call.signature;
    // A handle that stays is that of one that the call has not completed.
    let is_flag_off = signature.result(Kind::Flag).is_some_and(|flag| call.array(flag).word(0) == 0);
    if is_flag_off || call.handle(requests, index) == Some(handle) {
        return None;
    }
    let is_this = |place: u8, element| usize::try_from(call.array(place).signed(element)) == Ok(index);
    let index_of =
        |is_in_array| signature.place(|it| it.kind == Kind::Index && is_array(it) == is_in_array);
    let place = match (index_of(false), index_of(true), signature.result(Kind::Length)) {
        (Some(place), ..) => is_this(place, 0).then_some(0)?,
        (None, Some(indices), Some(count)) => {
            (0..call.array(count).number(0)).find(|element| is_this(indices, *element))?
        }
        _ => index as u64,
    };
    let statuses = signature.result(Kind::Status)?;
    Some(call.address(statuses).map(|first| first + place * u64::from(signature.width(statuses))))
}

/// Adds hashes of what is in the buffers of a call that has succeeded, and keeps what comes with its request.
fn add_contents(contents: &TransferredContents, call: &CallArguments, request: Option<u64>, record: &CallRecord) {
    let mpi = call.mpi;
    // Of a message that is complete at once there will be no status.
    let is_complete = request.is_some_and(|request| mpi.is_complete_request(request));
    let is_there = match contents.comes {
        Arrival::AtReturn => true,
        Arrival::WithRequest => is_complete && !contents.has_status_later,
        Arrival::Unknown => false,
    };
    let request = request.filter(|_| contents.comes == Arrival::WithRequest && !is_complete);
    contents.each(call, |mut found| {
        if found.is_sent || is_there {
            if let Some((bytes, hash)) = found.pieces.hash(found.received, mpi) {
                record.add_hash(found.place, AFTER, bytes, hash);
            }
        } else if let Some(request) = request {
            found.pieces.hold(mpi);
            let room = record.add_room(found.place, call.thread);
            let entry = Pending { pieces: found.pieces, has_status: contents.has_status_later, room };
            entries().insert((call.caller, request), entry);
        }
    });
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use qmpi_abi::FnId;

    use super::*;
    use crate::mpi::Abi;

    fn of(function: &str) -> Option<(Action, u8)> {
        Action::of(&Signature::of(FnId::by_name(function).unwrap(), Abi::Mpich))
    }

    #[test]
    fn what_functions_do_with_requests() {
        assert_eq!(of("MPI_Irecv"), Some((Action::Makes, 6)));
        assert_eq!(of("MPI_Recv_init"), Some((Action::Makes, 6)));
        assert_eq!(of("MPI_Request_free"), Some((Action::Forgets, 0)));
        assert_eq!(of("MPI_Cancel"), Some((Action::Forgets, 0)));
        for function in ["MPI_Request_get_status", "MPI_Start", "MPI_Startall", "MPI_Send"] {
            assert_eq!(of(function), None, "{function}");
        }
        // Every function that completes requests is known as one: by their standard names.
        for id in FnId::all().filter(|id| id.name().starts_with("MPI_Wait") || id.name().starts_with("MPI_Test")) {
            let has_requests = id.parameters().iter().any(|parameter| parameter.kind == Kind::Request);
            let completes = of(id.name()).is_some_and(|(action, _)| action == Action::Completes);
            assert_eq!(completes, has_requests, "{}", id.name());
        }
    }
}
