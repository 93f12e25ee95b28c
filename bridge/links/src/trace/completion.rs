//! Which functions complete what others have begun, and what a call of theirs has completed.
#![expect(unsafe_code, reason = "arguments of the program")]

use std::ptr;

use qmpi_abi::FnId;
use qmpi_abi::parameters::{Direction, Kind, Parameter};
use qmpi_elf::MpiFamily;

use crate::bytes::{self, Arguments};
use crate::trace::captures;
use crate::trace::pending::{Key, Object};

/// Addresses below are null, or constants that stand for something (`MPI_STATUS_IGNORE`).
const LOWEST: u64 = 4096;
/// So many hashes of persistent requests one call of `MPI_Startall` has at most, and as many of what they receive.
pub(crate) const STARTED: u64 = 64;

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
    array: u8,
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

/// A request, a window or a file of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Item {
    pub(crate) object: Object,
    pub(crate) handle: u64,
    pub(crate) index: usize,
}

/// The role of a function; `None`: it has none.
pub(crate) fn role(function: FnId, family: MpiFamily) -> Option<Role> {
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
                let size = captures::element(&parameters[usize::from(statuses)], family)?.into();
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
    /// The objects that a call may complete, start or free.
    pub(crate) fn each(self, arguments: &Arguments<'_>, mut tell: impl FnMut(Item)) {
        let Some(settings) = bytes::settings() else { return };
        let one = |object, place| Item { object, handle: settings.handle(arguments.word(place)), index: 0 };
        match self {
            Self::Makes { .. } => {}
            Self::Frees { object, place } => {
                if let Some(handle) = handle_at(arguments.word(place), 0, settings) {
                    tell(Item { object, handle, index: 0 });
                }
            }
            Self::Synchronizes { window, .. } => tell(one(Object::Window, window)),
            Self::Ends { file, .. } => tell(one(Object::File, file)),
            Self::Starts(requests) | Self::Completes(requests, _) | Self::Forgets(requests) => {
                for index in 0..requests.count(arguments) {
                    let Some(handle) = requests.handle(index, arguments, settings) else { return };
                    tell(Item { object: Object::Request, handle, index });
                }
            }
        }
    }

    /// Hashes that a record gets of what is started.
    pub(crate) fn most(self, arguments: &Arguments<'_>) -> usize {
        match self {
            Self::Starts(requests) => 2 * requests.count(arguments).min(STARTED as usize),
            _ => 0,
        }
    }
}

impl Requests {
    fn count(self, arguments: &Arguments<'_>) -> usize {
        let count = self.count.map_or(1, |place| arguments.word(place) as i32);
        usize::try_from(count).unwrap_or(0)
    }

    /// Which argument they are.
    pub(crate) fn place(self) -> u8 {
        self.array
    }

    /// The handle of one of them, as it is now.
    pub(crate) fn handle(self, index: usize, arguments: &Arguments<'_>, settings: &bytes::Settings) -> Option<u64> {
        handle_at(arguments.word(self.array), index, settings)
    }
}

/// The handle number `index` at an address.
pub(crate) fn handle_at(address: u64, index: usize, settings: &bytes::Settings) -> Option<u64> {
    if address < LOWEST {
        return None;
    }
    let address = address as usize + index * settings.handle_size();
    if settings.handle_size() == 4 {
        // SAFETY: the caller passes so many handles to a function that reads them.
        return Some(unsafe { ptr::with_exposed_provenance::<u32>(address).read_unaligned() }.into());
    }
    // SAFETY: as above.
    Some(unsafe { ptr::with_exposed_provenance::<u64>(address).read_unaligned() })
}

impl Outcome {
    /// The status of a request that the call, which has succeeded, has completed: an address or a constant. `None`: it has not completed it.
    pub(crate) fn of(&self, index: usize, arguments: &Arguments<'_>) -> Option<u64> {
        let status = |place: usize| {
            let first = arguments.word(self.statuses);
            let is_there = first >= LOWEST && first != u64::MAX;
            Some(if is_there { first + place as u64 * self.size } else { 0 })
        };
        if self.flag.is_some_and(|flag| int(arguments.word(flag), 0) == 0) {
            return None;
        }
        if let Some(place) = self.index {
            return if usize::try_from(int(arguments.word(place), 0)) == Ok(index) { status(0) } else { None };
        }
        let (Some(count), Some(indices)) = (self.count, self.indices) else { return status(index) };
        let count = usize::try_from(int(arguments.word(count), 0)).unwrap_or(0);
        let place = (0..count).find(|place| usize::try_from(int(arguments.word(indices), *place)) == Ok(index))?;
        status(place)
    }
}

/// An element of an array of `int` that the function has stored.
fn int(address: u64, element: usize) -> i32 {
    if address < LOWEST {
        return 0;
    }
    // SAFETY: the function has succeeded, and has stored so many there.
    unsafe { ptr::with_exposed_provenance::<i32>(address as usize + 4 * element).read_unaligned() }
}

/// The key of an object of a call that this layer makes.
pub(crate) fn key(item: Item, caller: usize) -> Key {
    Key { object: item.object, caller, handle: item.handle }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn of(function: &str) -> Option<Role> {
        role(FnId::by_name(function).unwrap(), MpiFamily::Mpich)
    }

    #[test]
    fn roles_of_functions() {
        let one = Requests { array: 0, count: None };
        let many = Requests { array: 1, count: Some(0) };
        assert_eq!(of("MPI_Irecv"), Some(Role::Makes { request: 6 }));
        assert_eq!(of("MPI_Grequest_start"), Some(Role::Makes { request: 4 }));
        assert_eq!(of("MPI_Start"), Some(Role::Starts(one)));
        assert_eq!(of("MPI_Startall"), Some(Role::Starts(many)));
        assert_eq!(of("MPI_Request_free"), Some(Role::Forgets(one)));
        assert_eq!(of("MPI_Cancel"), Some(Role::Forgets(one)));
        assert_eq!(of("MPI_Request_get_status"), None);
        assert_eq!(of("MPI_Send"), None);
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
