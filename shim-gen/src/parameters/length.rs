//! Lengths as products of factors: `size(comm)*recvcount*recvtype`.

use crate::parameters::row::ListedParameter;
use crate::parameters::shape::TypeShape;

/// One factor: `qmpi_abi::parameters::Factor`, which says what each is, in the order of the generated table of lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LengthFactor {
    Number(u8),
    Zero,
    Unknown,
    Constant(u8),
    Argument(u8),
    Pointee(u8),
    Sum(u8),
    Last(u8),
    Size(u8),
    Ranks(u8),
    Sources(u8),
    Destinations(u8),
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
pub(crate) fn factors(text: &str, parameters: &[ListedParameter]) -> Option<Vec<LengthFactor>> {
    // A star before a name is not one between factors.
    if let Some(name) = text.strip_prefix('*') {
        return Some(vec![LengthFactor::Pointee(place(name, parameters)?)]);
    }
    text.split('*').map(|text| factor(text, parameters)).collect()
}

fn factor(text: &str, parameters: &[ListedParameter]) -> Option<LengthFactor> {
    if let Ok(number) = text.parse() {
        return Some(LengthFactor::Number(number));
    }
    if let Some(constant) = CONSTANTS.iter().position(|constant| *constant == text) {
        return Some(LengthFactor::Constant(u8::try_from(constant).ok()?));
    }
    let (of, name) = text.strip_suffix(')').and_then(|text| text.split_once('(')).unwrap_or(("", text));
    let place = place(name, parameters);
    Some(match (of, place) {
        ("", None) if name == "zero" => LengthFactor::Zero,
        ("", None) if name == "unknown" => LengthFactor::Unknown,
        ("last", Some(place)) => LengthFactor::Last(place),
        ("size", Some(place)) => LengthFactor::Ranks(place),
        ("in", Some(place)) => LengthFactor::Sources(place),
        ("out", Some(place)) => LengthFactor::Destinations(place),
        ("dims", Some(place)) => LengthFactor::Dimensions(place),
        ("", Some(place)) => match &parameters[usize::from(place)] {
            parameter if parameter.kind == "datatype" => LengthFactor::Size(place),
            parameter if TypeShape::of(&parameter.ctype).indirections > 0 => LengthFactor::Sum(place),
            _ => LengthFactor::Argument(place),
        },
        _ => return None,
    })
}

/// The place of a parameter by its name.
fn place(name: &str, parameters: &[ListedParameter]) -> Option<u8> {
    u8::try_from(parameters.iter().position(|parameter| parameter.name == name)?).ok()
}
