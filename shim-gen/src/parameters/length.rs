//! Lengths as products of factors: `size(comm)*recvcount*recvtype`.

use crate::parameters::Parameter;
use crate::parameters::shape::Shape;

/// One factor; numbers are places of parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Factor {
    /// A number of its own.
    Number(u8),
    /// Up to a zero byte or a null pointer.
    Zero,
    /// Nothing in the call tells.
    Unknown,
    /// A constant of `mpi.h`.
    Constant(&'static str),
    /// An argument.
    Argument(u8),
    /// What an argument points to.
    Pointee(u8),
    /// All elements of an array, added up.
    Sum(u8),
    /// The last element of an array.
    Last(u8),
    /// The size of a datatype; of an array of datatypes, each goes with an element of the sum.
    Size(u8),
    /// How many ranks take part in an operation on a communicator.
    Ranks(u8),
    /// Neighbors that a rank receives from.
    Sources(u8),
    /// Neighbors that a rank sends to.
    Destinations(u8),
    /// Dimensions of a Cartesian communicator.
    Dimensions(u8),
}

/// Constants that lengths may name.
pub(crate) const CONSTANTS: [&str; 9] = [
    "MPI_MAX_DATAREP_STRING",
    "MPI_MAX_ERROR_STRING",
    "MPI_MAX_INFO_KEY",
    "MPI_MAX_LIBRARY_VERSION_STRING",
    "MPI_MAX_OBJECT_NAME",
    "MPI_MAX_PORT_NAME",
    "MPI_MAX_PROCESSOR_NAME",
    "MPI_STATUS_SIZE",
    "OMPI_AFFINITY_STRING_MAX",
];

/// The factors of a length, in the order written; `None` if it names a parameter that the function has not.
pub(crate) fn factors(text: &str, parameters: &[Parameter]) -> Option<Vec<Factor>> {
    // A star before a name is not one between factors.
    if let Some(name) = text.strip_prefix('*') {
        return Some(vec![Factor::Pointee(place(name, parameters)?.0)]);
    }
    text.split('*').map(|text| factor(text, parameters)).collect()
}

fn factor(text: &str, parameters: &[Parameter]) -> Option<Factor> {
    match text {
        "zero" => return Some(Factor::Zero),
        "unknown" => return Some(Factor::Unknown),
        _ => {}
    }
    if let Ok(number) = text.parse() {
        return Some(Factor::Number(number));
    }
    if let Some(constant) = CONSTANTS.iter().find(|constant| **constant == text) {
        return Some(Factor::Constant(constant));
    }
    if let Some((of, name)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        let (place, _) = place(name, parameters)?;
        return match of {
            "last" => Some(Factor::Last(place)),
            "size" => Some(Factor::Ranks(place)),
            "in" => Some(Factor::Sources(place)),
            "out" => Some(Factor::Destinations(place)),
            "dims" => Some(Factor::Dimensions(place)),
            _ => None,
        };
    }
    let (place, parameter) = place(text, parameters)?;
    Some(match parameter {
        _ if parameter.kind == "datatype" => Factor::Size(place),
        _ if Shape::of(&parameter.ctype).indirections > 0 => Factor::Sum(place),
        _ => Factor::Argument(place),
    })
}

/// A parameter by its name, and its place.
fn place<'a>(name: &str, parameters: &'a [Parameter]) -> Option<(u8, &'a Parameter)> {
    let place = parameters.iter().position(|parameter| parameter.name == name)?;
    Some((u8::try_from(place).ok()?, &parameters[place]))
}
