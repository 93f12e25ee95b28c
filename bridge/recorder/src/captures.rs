//! Which arguments of a function point to something that a reader wants to see, and how much of it there is.
//!
//! Data of the program is not among it. Nothing is read that MPI does not read or write itself: what a function reads or writes is read when it
//! has returned without an error, and requests before the call, as they are others afterwards.

use qmpi_abi::FnId;
use qmpi_abi::parameters::{Direction, Factor, Kind, Parameter};

use crate::bytes::{Array, argument, number};
use crate::mpi::{Abi, LOWEST, Mpi};

/// Bytes of an array that are recorded.
pub(crate) const OF_ARRAY: usize = 1024;
/// Bytes of a string.
pub(crate) const OF_STRING: usize = 128;

/// An argument that points to something.
#[derive(Debug)]
pub(crate) struct Capture {
    pub(crate) place: u8,
    pub(crate) before: bool,
    pub(crate) after: bool,
    /// Bytes of an element; 0 for the characters of a string.
    pub(crate) element: u16,
    /// The number of elements is the product.
    factors: &'static [Factor],
    parameters: &'static [Parameter],
    /// A buffer whose `MPI_IN_PLACE` makes this argument meaningless.
    buffer: Option<u8>,
    /// Statuses of the standard ABI, of which MPI is asked what they say.
    pub(crate) statuses: Option<Stored>,
}

/// Which of the statuses that a function has room for it has stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stored {
    /// Where it says whether there are any.
    flag: Option<u8>,
    /// Where it says how many.
    count: Option<u8>,
}

/// What is worth recording of a function's arguments.
pub(crate) fn of(id: FnId, abi: Abi) -> Vec<Capture> {
    let parameters = id.parameters();
    let capture = |(place, parameter): (usize, &Parameter)| {
        let element = element(parameter, abi)?;
        let (before, after) = match parameter.direction {
            Direction::In | Direction::Out => (false, true),
            Direction::InOut => (true, true),
            Direction::Result => return None,
        };
        let is_countable = |factor: &Factor| match factor {
            Factor::Zero | Factor::Constant(_) => element == 0,
            Factor::Number(_) | Factor::Argument(_) | Factor::Pointee(_) | Factor::Ranks(_) | Factor::Dimensions(_) => {
                true
            }
            _ => false,
        };
        if parameter.at_root || !parameter.length().iter().all(is_countable) {
            return None;
        }
        let side = |prefixes: [&str; 3]| prefixes.iter().any(|prefix| parameter.name().starts_with(prefix));
        let buffer = if side(["sendcounts", "sdispls", "sendtypes"]) {
            parameters.iter().position(|other| other.name() == "sendbuf")
        } else {
            None
        };
        let find = |name: &str| {
            let is_it = |other: &&Parameter| other.name() == name && other.direction == Direction::Out;
            parameters.iter().position(|other| is_it(&other)).map(|place| place as u8)
        };
        let is_asked_about = parameter.kind == Kind::Status && abi == Abi::Standard;
        Some(Capture {
            statuses: is_asked_about.then(|| Stored { flag: find("flag"), count: find("outcount") }),
            place: place as u8,
            before,
            after,
            element,
            factors: parameter.length(),
            parameters,
            buffer: buffer.map(|place| place as u8),
        })
    };
    parameters.iter().enumerate().filter_map(capture).collect()
}

/// Bytes of what the parameter points to; 0 for characters, `None` if it is no pointer or nobody wants to see it.
pub(crate) fn element(parameter: &Parameter, abi: Abi) -> Option<u16> {
    use Kind::{
        Attribute, Buffer, Callback, FortranLogical, FortranStatus, Memory, MemoryPointer, Object, State, StringLists,
        Strings, VendorHandle, Weight,
    };
    let ctype = parameter.ctype();
    if !ctype.contains(['*', '[']) {
        return None;
    }
    match parameter.kind {
        // What a memory's owner thinks of it is in the argument itself.
        Buffer | Memory | Callback | State | Strings | StringLists | FortranStatus | FortranLogical | Object
        | VendorHandle => {
            return None;
        }
        // MPI_UNWEIGHTED may be the address of a variable.
        Weight => return None,
        Attribute | MemoryPointer => return (parameter.direction == Direction::Out).then_some(8),
        _ => {}
    }
    let base = ctype.trim_start_matches("const ").split(['*', '[']).next().unwrap_or_default().trim();
    Some(match (base, abi) {
        ("char", _) => 0,
        ("bool", _) => 1,
        ("int" | "MPI_Fint" | "float", _) => 4,
        ("double" | "MPI_Aint" | "MPI_Count" | "MPI_Offset" | "MPI_File" | "unsigned long long", _) => 8,
        ("MPI_Status", Abi::Mpich) => 20,
        ("MPI_Status", Abi::OpenMpi) => 24,
        ("MPI_Status", Abi::Standard) => 32,
        (
            "MPI_Comm" | "MPI_Group" | "MPI_Datatype" | "MPI_Op" | "MPI_Request" | "MPI_Message" | "MPI_Win"
            | "MPI_Info" | "MPI_Errhandler" | "MPI_Session",
            Abi::Mpich,
        ) => 4,
        (
            "MPI_Comm" | "MPI_Group" | "MPI_Datatype" | "MPI_Op" | "MPI_Request" | "MPI_Message" | "MPI_Win"
            | "MPI_Info" | "MPI_Errhandler" | "MPI_Session",
            _,
        ) => 8,
        (
            "MPI_T_enum"
            | "MPI_T_cvar_handle"
            | "MPI_T_pvar_handle"
            | "MPI_T_pvar_session"
            | "MPI_T_event_registration",
            _,
        ) => 8,
        _ => return None,
    })
}

impl Stored {
    /// How many there are, of so many. The function has succeeded.
    pub(crate) fn count(self, all: usize, arguments: &[u64]) -> usize {
        let told = |place: Option<u8>| {
            let place = place.filter(|place| argument(arguments, *place) >= LOWEST)?;
            Some(Array::of_numbers(arguments, place, true).number(0) as usize)
        };
        if told(self.flag) == Some(0) { 0 } else { told(self.count).map_or(all, |count| count.min(all)) }
    }
}

impl Capture {
    /// Is there something at the address?
    pub(crate) fn is_address(&self, word: u64, arguments: &[u64]) -> bool {
        let in_place = |place| {
            let buffer = argument(arguments, place);
            buffer < LOWEST || buffer == u64::MAX
        };
        word >= LOWEST && word != u64::MAX && !self.buffer.is_some_and(in_place)
    }

    /// The most bytes that are recorded of it.
    pub(crate) fn most(&self, arguments: &[u64]) -> usize {
        if self.element == 0 {
            return OF_STRING;
        }
        let mut count = 1_u64;
        for factor in self.factors {
            count = count.saturating_mul(match *factor {
                Factor::Number(number) => u64::from(number),
                Factor::Argument(place) => self.number(argument(arguments, place), place),
                _ => return OF_ARRAY,
            });
        }
        (count.saturating_mul(u64::from(self.element)).min(OF_ARRAY as u64) as usize).next_multiple_of(8)
    }

    /// How many elements there are; asks MPI, if need be, about arguments with which the call has succeeded.
    pub(crate) fn count(&self, arguments: &[u64], mpi: &Mpi) -> u64 {
        let mut count = 1_u64;
        for factor in self.factors {
            count = count.saturating_mul(match *factor {
                Factor::Number(number) => u64::from(number),
                Factor::Argument(place) => self.number(argument(arguments, place), place),
                Factor::Pointee(place) if argument(arguments, place) < LOWEST => 0,
                Factor::Pointee(place) => Array::of_numbers(arguments, place, true).number(0),
                Factor::Ranks(place) => mpi.ranks(argument(arguments, place), false),
                Factor::Dimensions(place) => mpi.dimensions(argument(arguments, place)),
                _ => 0,
            });
        }
        count
    }

    /// A number of elements; none if it is negative.
    fn number(&self, word: u64, place: u8) -> u64 {
        number(word, self.parameters.get(usize::from(place)).is_none_or(|parameter| parameter.ctype() == "int"))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn captures(function: &str, abi: Abi) -> Vec<(u8, bool, u16)> {
        let all = of(FnId::by_name(function).unwrap(), abi);
        all.iter().map(|capture| (capture.place, capture.before, capture.element)).collect()
    }

    #[test]
    fn what_functions_point_to() {
        assert_eq!(captures("MPI_Send", Abi::Mpich), []);
        assert_eq!(captures("MPI_Recv", Abi::Mpich), [(6, false, 20)]);
        assert_eq!(captures("MPI_Recv", Abi::OpenMpi), [(6, false, 24)]);
        assert_eq!(captures("MPI_Waitall", Abi::Mpich), [(1, true, 4), (2, false, 20)]);
        assert_eq!(captures("MPI_Comm_set_name", Abi::OpenMpi), [(1, false, 0)]);
        assert_eq!(captures("MPI_Alltoallv", Abi::Standard).len(), 4);
    }
}
