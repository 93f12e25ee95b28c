//! Which arguments of a function point to something that a reader wants to see, and how much of it there is.
//!
//! Data of the program is not among it. Nothing is read that MPI does not read or write itself: what a function reads or writes is read when it
//! has returned without an error, and requests before the call, as they are others afterwards.

use qmpi_abi::MpiFamily;
use qmpi_abi::parameters::{Direction, Factor, Kind, Parameter};

use crate::arguments::{CallArguments, Signature, is_pointer};

/// Bytes of an array that are recorded.
const OF_ARRAY: usize = 1024;
/// Bytes of a string.
pub(crate) const OF_STRING: usize = 128;

/// An argument that points to something.
#[derive(Debug)]
pub(crate) struct Capture {
    pub(crate) place: u8,
    /// Whether it is read before the call as well.
    pub(crate) before: bool,
    /// Bytes of an element; 0 for the characters of a string.
    pub(crate) width: u8,
    /// The number of elements is the product.
    factors: &'static [Factor],
    /// A buffer whose `MPI_IN_PLACE` makes this argument meaningless.
    buffer: Option<u8>,
    /// Statuses of the standard ABI, of which MPI is asked what they say.
    pub(crate) is_asked_about: bool,
}

/// What is worth recording of a function's arguments.
pub(crate) fn of(signature: &Signature, abi: MpiFamily) -> Vec<Capture> {
    (0..signature.parameters.len() as u8).filter_map(|place| capture(place, signature, abi)).collect()
}

fn capture(place: u8, signature: &Signature, abi: MpiFamily) -> Option<Capture> {
    let (parameter, width) = (signature.parameter(place), signature.width(place));
    if parameter.at_root || !is_of_interest(parameter) || width == 0 && !parameter.ctype().contains("char") {
        return None;
    }
    let is_countable = |factor: &Factor| match factor {
        Factor::Zero | Factor::Constant(_) => width == 0,
        Factor::Number(_) | Factor::Argument(_) | Factor::Pointee(_) | Factor::Ranks(_) | Factor::Dimensions(_) => true,
        _ => false,
    };
    let is_of_sender = ["sendcounts", "sdispls", "sendtypes"].iter().any(|start| parameter.name().starts_with(start));
    let buffer = signature.place(|other| is_of_sender && other.name() == "sendbuf");
    let before = parameter.direction == Direction::InOut;
    let is_asked_about = parameter.kind == Kind::Status && abi == MpiFamily::StandardAbi;
    let factors = parameter.length();
    factors.iter().all(is_countable).then_some(Capture { place, before, width, factors, buffer, is_asked_about })
}

/// Does the parameter point to something that a reader wants to see?
fn is_of_interest(parameter: &Parameter) -> bool {
    use Kind::{
        Attribute, Buffer, Callback, FortranLogical, FortranStatus, Memory, MemoryPointer, Object, State, StringLists,
        Strings, VendorHandle, Weight,
    };
    let is_wanted = match parameter.kind {
        // What a memory's owner thinks of it is in the argument itself. MPI_UNWEIGHTED may be the address of a variable.
        Buffer | Memory | Callback | State | Strings | StringLists | FortranStatus | FortranLogical | Object
        | VendorHandle | Weight => false,
        Attribute | MemoryPointer => parameter.direction == Direction::Out,
        _ => true,
    };
    is_wanted && is_pointer(parameter)
}

impl Capture {
    /// The address of what there is, if there is something.
    pub(crate) fn address(&self, arguments: &CallArguments) -> Option<u64> {
        let has_meaning = self.buffer.is_none_or(|buffer| arguments.address(buffer).is_some());
        arguments.address(self.place).filter(|_| has_meaning)
    }

    /// The most bytes that are recorded of it. Asks MPI nothing.
    pub(crate) fn most(&self, arguments: &CallArguments) -> usize {
        let is_known = |factor: &Factor| matches!(factor, Factor::Number(_) | Factor::Argument(_));
        if self.width == 0 {
            return OF_STRING;
        }
        if !self.factors.iter().all(is_known) {
            return OF_ARRAY;
        }
        let bytes = self.count(arguments).saturating_mul(u64::from(self.width));
        (bytes.min(OF_ARRAY as u64) as usize).next_multiple_of(8)
    }

    /// How many elements there are; asks MPI, if need be, about arguments with which the call has succeeded.
    pub(crate) fn count(&self, arguments: &CallArguments) -> u64 {
        arguments.product(self.factors)
    }
}

/// How many of so many statuses the function, which has succeeded, has stored.
pub(crate) fn stored_statuses(all: usize, arguments: &CallArguments) -> usize {
    let told = |name: &str| {
        let place = arguments.signature.place(|it| it.name() == name && it.direction == Direction::Out)?;
        arguments.address(place).map(|_| arguments.number_element(place, 0) as usize)
    };
    if told("flag") == Some(0) { 0 } else { told("outcount").map_or(all, |count| count.min(all)) }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use qmpi_abi::FnId;

    use super::*;

    fn captures(function: &str, abi: MpiFamily) -> Vec<(u8, bool, u8)> {
        let all = of(&Signature::of(FnId::by_name(function).unwrap(), abi), abi);
        all.iter().map(|capture| (capture.place, capture.before, capture.width)).collect()
    }

    #[test]
    fn what_functions_point_to() {
        assert_eq!(captures("MPI_Send", MpiFamily::Mpich), []);
        assert_eq!(captures("MPI_Recv", MpiFamily::Mpich), [(6, false, 20)]);
        assert_eq!(captures("MPI_Recv", MpiFamily::OpenMpi), [(6, false, 24)]);
        assert_eq!(captures("MPI_Waitall", MpiFamily::Mpich), [(1, true, 4), (2, false, 20)]);
        assert_eq!(captures("MPI_Comm_set_name", MpiFamily::OpenMpi), [(1, false, 0)]);
        assert_eq!(captures("MPI_Alltoallv", MpiFamily::StandardAbi).len(), 4);
    }
}
