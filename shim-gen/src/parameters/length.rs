//! Lengths as products of factors: `size(comm)*recvcount*recvtype`.

use crate::parameters::row::ListedParameter;
use crate::parameters::shape::TypeShape;

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

/// The factors of a length in the order written, each as Rust text of a `qmpi_abi::parameters::Factor`, which says what it is; `None` if it
/// names a parameter that the function has not.
pub(crate) fn factors(text: &str, parameters: &[ListedParameter]) -> Option<Vec<String>> {
    // A star before a name is not one between factors.
    if let Some(name) = text.strip_prefix('*') {
        return Some(vec![format!("Pointee({})", place(name, parameters)?)]);
    }
    text.split('*').map(|text| factor(text, parameters)).collect()
}

fn factor(text: &str, parameters: &[ListedParameter]) -> Option<String> {
    if text.parse::<u8>().is_ok() {
        return Some(format!("Number({text})"));
    }
    if let Some(constant) = CONSTANTS.iter().position(|constant| *constant == text) {
        return Some(format!("Constant({constant})"));
    }
    let (of, name) = text.strip_suffix(')').and_then(|text| text.split_once('(')).unwrap_or(("", text));
    let Some(place) = place(name, parameters) else {
        return matches!(text, "zero" | "unknown").then(|| text[..1].to_uppercase() + &text[1..]);
    };
    let factor = match of {
        "last" => "Last",
        "size" => "Ranks",
        "in" => "Sources",
        "out" => "Destinations",
        "dims" => "Dimensions",
        "" => match &parameters[place] {
            parameter if parameter.kind == "datatype" => "Size",
            parameter if TypeShape::of(&parameter.ctype).indirections > 0 => "Sum",
            _ => "Argument",
        },
        _ => return None,
    };
    Some(format!("{factor}({place})"))
}

/// The place of a parameter by its name.
fn place(name: &str, parameters: &[ListedParameter]) -> Option<usize> {
    parameters.iter().position(|parameter| parameter.name == name)
}
