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
use qmpi_abi::parameters::{Direction, Kind, Parameter};

use crate::bytes::{Array, argument};
use crate::captures;
use crate::contents::Pieces;
use crate::mpi::{Abi, LOWEST, Mpi};
use crate::trace::Room;

/// So many hashes of persistent requests one call of `MPI_Startall` has at most, and as many of what they receive.
pub(crate) const STARTED: usize = 64;

/// What completes an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Object {
    Request,
    Window,
    File,
}

/// An object as a layer knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) object: Object,
    /// The layer; 0 is the program.
    pub(crate) caller: usize,
    pub(crate) handle: u64,
}

/// An entry.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) received: Pieces,
    /// What a persistent request sends.
    pub(crate) sent: Pieces,
    pub(crate) is_persistent: bool,
    /// Whether a status tells how much has come.
    pub(crate) has_status: bool,
    /// The rank that it comes from, of a window.
    pub(crate) rank: i32,
    /// Where the hash is to be; `None`: a persistent request that is not under way.
    pub(crate) room: Option<Room>,
}

static ENTRIES: Mutex<BTreeMap<Key, Vec<Pending>>> = Mutex::new(BTreeMap::new());

/// Takes out the entries of an object, of a request at most one.
pub(crate) fn take(key: Key) -> Vec<Pending> {
    ENTRIES.lock().unwrap_or_else(PoisonError::into_inner).remove(&key).unwrap_or_default()
}

/// Keeps an entry.
pub(crate) fn keep(key: Key, entry: Pending) {
    ENTRIES.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().push(entry);
}

impl Pending {
    /// Gives up the datatypes that it holds.
    pub(crate) fn release(mut self, mpi: &Mpi) {
        self.received.release(mpi);
        self.sent.release(mpi);
    }
}

/// What a function does with things that are under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It makes a request, at the address in this argument.
    Makes { request: u8 },
    /// It starts persistent requests.
    Starts(Requests),
    /// It completes requests, or some of them.
    Completes(Requests, Outcome),
    /// What becomes of the requests is not seen: they are freed or cancelled.
    Forgets(Requests),
    /// It completes what was begun on a window: all of it, or what has to do with the rank in this argument.
    Synchronizes { window: u8, rank: Option<u8> },
    /// It completes what was begun on a file.
    Ends { file: u8, status: Option<u8> },
    /// The window or file at the address in this argument comes to its end.
    Frees { object: Object, place: u8 },
}

/// The requests of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Requests {
    pub(crate) array: u8,
    /// How many; `None`: one.
    count: Option<u8>,
}

/// Where a call tells what it has completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outcome {
    flag: Option<u8>,
    index: Option<u8>,
    count: Option<u8>,
    indices: Option<u8>,
    statuses: u8,
    /// Bytes of a status.
    size: u64,
}

/// The role of a function; `None`: it has none.
pub(crate) fn role(function: FnId, abi: Abi) -> Option<Role> {
    let parameters = function.parameters();
    let place = |is_it: &dyn Fn(&Parameter) -> bool| parameters.iter().position(is_it).map(|place| place as u8);
    let of = |kind: Kind| place(&|parameter| parameter.kind == kind);
    let out = |kind: Kind, name: &str| {
        place(&|parameter| parameter.kind == kind && parameter.direction == Direction::Out && parameter.name() == name)
    };
    let name = function.name();
    if let Some(array) = of(Kind::Request) {
        let parameter = &parameters[usize::from(array)];
        if !parameter.ctype().contains(['*', '[']) {
            return None;
        }
        if parameter.direction == Direction::Out {
            return Some(Role::Makes { request: array });
        }
        let count = parameter.ctype().contains('[').then(|| place(&|other| other.name().ends_with("count"))).flatten();
        let requests = Requests { array, count };
        let statuses = place(&|other| other.kind == Kind::Status && other.direction == Direction::Out);
        return Some(match statuses {
            _ if matches!(name, "MPI_Start" | "MPI_Startall") => Role::Starts(requests),
            Some(statuses) if ["MPI_Wait", "MPI_Test"].iter().any(|begin| name.starts_with(begin)) => {
                let size = captures::element(&parameters[usize::from(statuses)], abi)?.into();
                let flag = out(Kind::Flag, "flag");
                let index = place(&|other| other.kind == Kind::Index && !other.ctype().contains('['));
                let indices = place(&|other| other.kind == Kind::Index && other.ctype().contains('['));
                let outcome = Outcome { flag, index, count: out(Kind::Length, "outcount"), indices, statuses, size };
                Role::Completes(requests, outcome)
            }
            _ => Role::Forgets(requests),
        });
    }
    let is_freed = |place: u8| {
        let parameter = &parameters[usize::from(place)];
        parameter.direction == Direction::InOut && parameter.ctype().contains('*')
    };
    for (kind, object) in [(Kind::Window, Object::Window), (Kind::File, Object::File)] {
        if let Some(place) = of(kind).filter(|place| is_freed(*place)) {
            return Some(Role::Frees { object, place });
        }
    }
    if let Some(window) = of(Kind::Window) {
        let begins = ["MPI_Win_flush", "MPI_Win_unlock", "MPI_Win_fence", "MPI_Win_complete"];
        let is_it = begins.iter().any(|begin| name.starts_with(begin));
        return is_it.then(|| Role::Synchronizes { window, rank: of(Kind::Rank) });
    }
    let file = of(Kind::File).filter(|_| name.ends_with("_end"))?;
    Some(Role::Ends { file, status: of(Kind::Status) })
}

impl Role {
    /// The objects that a call may complete, start or free, and of requests which ones they are.
    pub(crate) fn objects(self, arguments: &[u64], mpi: &Mpi) -> Vec<(Object, u64, usize)> {
        let of = |object, handle: Option<u64>| handle.map(|handle| (object, handle, 0)).into_iter().collect();
        let word = |place| mpi.handle(argument(arguments, place));
        match self {
            Self::Makes { .. } => Vec::new(),
            Self::Frees { object, place } => of(object, handle_at(arguments, place, 0, mpi)),
            Self::Synchronizes { window, .. } => of(Object::Window, Some(word(window))),
            Self::Ends { file, .. } => of(Object::File, Some(word(file))),
            Self::Starts(requests) | Self::Completes(requests, _) | Self::Forgets(requests) => {
                let handle = |index| Some((Object::Request, handle_at(arguments, requests.array, index, mpi)?, index));
                (0..requests.count(arguments)).filter_map(handle).collect()
            }
        }
    }

    /// Hashes that a record gets of what is started.
    pub(crate) fn most(self, arguments: &[u64]) -> usize {
        match self {
            Self::Starts(requests) => 2 * requests.count(arguments).min(STARTED),
            _ => 0,
        }
    }
}

impl Requests {
    fn count(self, arguments: &[u64]) -> usize {
        let count = self.count.map_or(1, |place| argument(arguments, place) as i32);
        usize::try_from(count).unwrap_or(0)
    }
}

/// The handle number `index` at the address in an argument.
pub(crate) fn handle_at(arguments: &[u64], place: u8, index: usize, mpi: &Mpi) -> Option<u64> {
    let is_there = argument(arguments, place) >= LOWEST;
    is_there.then(|| Array::of_handles(arguments, place, mpi).word(index as u64))
}

impl Outcome {
    /// The status of a request that the call, which has succeeded, has completed: an address, or 0 for none. `None`: it has not completed it.
    pub(crate) fn of(&self, index: usize, arguments: &[u64]) -> Option<u64> {
        let status = |place: usize| {
            let first = argument(arguments, self.statuses);
            let is_there = (LOWEST..u64::MAX).contains(&first);
            Some(if is_there { first + place as u64 * self.size } else { 0 })
        };
        let int = |place: u8, element: usize| {
            let array = Array::of_numbers(arguments, place, true);
            if argument(arguments, place) < LOWEST { 0 } else { array.signed(element as u64) }
        };
        if self.flag.is_some_and(|flag| int(flag, 0) == 0) {
            return None;
        }
        if let Some(place) = self.index {
            return if usize::try_from(int(place, 0)) == Ok(index) { status(0) } else { None };
        }
        let (Some(count), Some(indices)) = (self.count, self.indices) else { return status(index) };
        let count = usize::try_from(int(count, 0)).unwrap_or(0);
        let place = (0..count).find(|place| usize::try_from(int(indices, *place)) == Ok(index))?;
        status(place)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn of(function: &str) -> Option<Role> {
        role(FnId::by_name(function).unwrap(), Abi::Mpich)
    }

    #[test]
    fn roles_of_functions() {
        let one = Requests { array: 0, count: None };
        let many = Requests { array: 1, count: Some(0) };
        assert_eq!(of("MPI_Irecv"), Some(Role::Makes { request: 6 }));
        assert_eq!(of("MPI_Start"), Some(Role::Starts(one)));
        assert_eq!(of("MPI_Startall"), Some(Role::Starts(many)));
        assert_eq!(of("MPI_Request_free"), Some(Role::Forgets(one)));
        assert_eq!(of("MPI_Cancel"), Some(Role::Forgets(one)));
        assert_eq!((of("MPI_Request_get_status"), of("MPI_Send")), (None, None));
        assert_eq!(of("MPI_Win_fence"), Some(Role::Synchronizes { window: 1, rank: None }));
        assert_eq!(of("MPI_Win_flush_local"), Some(Role::Synchronizes { window: 1, rank: Some(0) }));
        assert_eq!(of("MPI_Win_free"), Some(Role::Frees { object: Object::Window, place: 0 }));
        assert_eq!(of("MPI_File_close"), Some(Role::Frees { object: Object::File, place: 0 }));
        assert_eq!(of("MPI_File_read_at_all_end"), Some(Role::Ends { file: 0, status: Some(2) }));
        let plain = Outcome { flag: None, index: None, count: None, indices: None, statuses: 2, size: 20 };
        assert_eq!(of("MPI_Wait"), Some(Role::Completes(one, Outcome { statuses: 1, ..plain })));
        assert_eq!(of("MPI_Waitall"), Some(Role::Completes(many, plain)));
        let some = Outcome { count: Some(2), indices: Some(3), statuses: 4, ..plain };
        assert_eq!(of("MPI_Testsome"), Some(Role::Completes(many, some)));
        let any = Outcome { index: Some(2), flag: Some(3), statuses: 4, ..plain };
        assert_eq!(of("MPI_Testany"), Some(Role::Completes(many, any)));
        // Every function that completes requests is known as one: by their standard names.
        for id in FnId::all().filter(|id| id.name().starts_with("MPI_Wait") || id.name().starts_with("MPI_Test")) {
            let has_requests = id.parameters().iter().any(|parameter| parameter.kind == Kind::Request);
            assert_eq!(matches!(of(id.name()), Some(Role::Completes(..))), has_requests, "{}", id.name());
        }
    }
}
