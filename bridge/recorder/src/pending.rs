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

use qmpi_abi::Handles;
use qmpi_abi::parameters::Kind;
use qmpi_abi::trace::AFTER;
use qmpi_system::Locked;

use crate::arguments::{CallArguments, Signature, is_array};
use crate::call_record::{CallRecord, Room};
use crate::contents::{Pieces, TransferredContents};

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

static ENTRIES: Locked<BTreeMap<Request, Pending>> = Locked::new(BTreeMap::new());

/// An entry that a call has which may complete its request.
#[derive(Debug)]
pub(crate) struct TakenEntry {
    request: Request,
    /// The argument, and the element of it.
    place: u8,
    index: usize,
    entry: Pending,
}

/// What a function does with buffers, and with requests that are under way.
#[derive(Debug)]
pub(crate) struct Transfers {
    contents: Option<TransferredContents>,
    requests: Handles,
    /// Whether it completes requests, or some of them. What becomes of others that it takes is not seen: they are freed or cancelled.
    completes: bool,
}

impl Transfers {
    /// Of a function; `None`: it has to do with no buffers.
    pub(crate) fn of(signature: &Signature) -> Option<Transfers> {
        let (contents, requests) = (TransferredContents::of(signature), Handles::of(signature.function));
        let completes = ["MPI_Wait", "MPI_Test"].iter().any(|start| signature.function.name().starts_with(start));
        let is_wanted = contents.is_some() || requests.starts() || requests.takes_requests();
        is_wanted.then_some(Transfers { contents, requests, completes })
    }

    /// How many hashes a record gets at most.
    pub(crate) fn most(&self) -> usize {
        self.contents.as_ref().map_or(0, |contents| contents.buffers.all.len())
    }

    /// Before the call: takes out what the call may complete. What becomes of the entries is not seen where the call is not recorded.
    pub(crate) fn take(&self, call: &CallArguments, is_recorded: bool) -> Vec<TakenEntry> {
        let mut taken = Vec::new();
        let (place, count) = match self.requests {
            Handles::Request(place) => (place, 1),
            Handles::Requests => (1, call.number(0) as usize),
            _ => return taken,
        };
        for index in 0..count {
            let Some(handle) = call.handle(place, index) else { continue };
            let request = (call.caller, handle);
            let Some(entry) = ENTRIES.lock().remove(&request) else { continue };
            if self.completes && is_recorded {
                taken.push(TakenEntry { request, place, index, entry });
            }
        }
        taken
    }

    /// After a call that has succeeded: hashes of what it has sent and received, and of what it has completed. No record: the call is not recorded.
    pub(crate) fn follow(&self, call: &CallArguments, taken: Vec<TakenEntry>, record: Option<&CallRecord>) {
        for TakenEntry { request, place, index, entry } in taken {
            let Some(status) = completed(call, place, request.1, index) else {
                ENTRIES.lock().insert(request, entry);
                continue;
            };
            let received = status.filter(|_| entry.has_status).and_then(|status| call.mpi.received(status));
            if let Some((bytes, hash)) = entry.pieces.hash(received, call.mpi) {
                entry.room.fill(bytes, hash, call.thread);
            }
        }
        let last = call.words.len().saturating_sub(1) as u8;
        let request = if self.requests.starts() { call.handle(last, 0) } else { None };
        // What was kept of one with this handle is none of its own.
        drop(request.map(|request| ENTRIES.lock().remove(&(call.caller, request))));
        if let Some((contents, record)) = self.contents.as_ref().zip(record) {
            add_contents(contents, call, request, record);
        }
    }
}

/// Whether a call, which has succeeded, has completed a request: with the status of it, if there is one.
fn completed(call: &CallArguments, requests: u8, handle: u64, index: usize) -> Option<Option<u64>> {
    let signature = call.signature;
    // A handle that stays is that of one that the call has not completed.
    let is_flag_off = signature.result(Kind::Flag).is_some_and(|flag| call.element(flag, 0) == 0);
    if is_flag_off || call.handle(requests, index) == Some(handle) {
        return None;
    }
    let is_this = |place: u8, element| usize::try_from(call.signed_element(place, element)) == Ok(index);
    let index_of = |is_in_array| signature.place(|it| it.kind == Kind::Index && is_array(it) == is_in_array);
    let place = match (index_of(false), index_of(true), signature.result(Kind::Length)) {
        (Some(place), ..) => is_this(place, 0).then_some(0)?,
        (None, Some(indices), Some(count)) => {
            (0..call.number_element(count, 0)).find(|element| is_this(indices, *element))?
        }
        _ => index as u64,
    };
    let statuses = signature.result(Kind::Status)?;
    Some(call.address(statuses).map(|first| first + place * u64::from(signature.width(statuses))))
}

/// Adds hashes of what is in the buffers of a call that has succeeded, and keeps what comes with its request.
fn add_contents(contents: &TransferredContents, call: &CallArguments, request: Option<u64>, record: &CallRecord) {
    let mpi = call.mpi;
    let is_complete = request.is_some_and(|request| mpi.is_complete_request(request));
    // Of a message that is complete at once there will be no status.
    let is_there = contents.is_followed && (request.is_none() || is_complete && !contents.has_status_later);
    let request = request.filter(|_| !is_complete);
    contents.each(call, |place, is_sent, mut pieces, received| {
        if is_sent || is_there {
            if let Some((bytes, hash)) = pieces.hash(received, mpi) {
                record.add_hash(place, AFTER, bytes, hash);
            }
        } else if let Some(request) = request {
            pieces.hold(mpi);
            let room = record.add_room(place, call.thread);
            ENTRIES
                .lock()
                .insert((call.caller, request), Pending { pieces, has_status: contents.has_status_later, room });
        }
    });
}

#[cfg(test)]
mod tests {
    use qmpi_abi::FnId;

    use super::*;
    use qmpi_abi::MpiFamily;

    /// Every function that completes requests is known as one: by their standard names.
    #[test]
    fn functions_that_complete_requests() {
        for id in FnId::all().filter(|id| id.name().starts_with("MPI_Wait") || id.name().starts_with("MPI_Test")) {
            let transfers = Transfers::of(&Signature::of(id, MpiFamily::Mpich));
            let has_requests = id.parameters().iter().any(|parameter| parameter.kind == Kind::Request);
            let takes = transfers.is_some_and(|transfers| transfers.completes && transfers.requests.takes_requests());
            assert_eq!(takes, has_requests, "{}", id.name());
        }
    }
}
