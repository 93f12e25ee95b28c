//! What the parameters of MPI functions are: for code that shows or compares calls. Calls themselves need none of it.
//!
//! The facts live in `parameters.tsv`; the tables are generated from it. Names and types are numbers into lists of strings, so that a table
//! of some thousand rows has no address for the dynamic linker to relocate.

mod kind;
mod table;

pub use kind::Kind;

use crate::id::FnId;
use table::{CONSTANTS, LENGTHS, NAMES, PARAMETERS, STARTS, TYPES};

/// One parameter of a function, or its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    name: u16,
    ctype: u16,
    length: u16,
    /// What it is.
    pub kind: Kind,
    /// Whether the function reads or writes it.
    pub direction: Direction,
    /// Only the root's argument has a meaning: the others may pass anything.
    pub at_root: bool,
}

/// Whether a function reads or writes a parameter, or what it points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// It is read.
    In,
    /// It is written.
    Out,
    /// Both.
    InOut,
    /// The function returns it.
    Result,
}

/// A factor of the length of an array, a string or a buffer. Numbers are places of parameters, but for [`Factor::Number`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Factor {
    /// This number.
    Number(u8),
    /// As many as there are before a zero byte or a null pointer.
    Zero,
    /// Nothing in the call tells.
    Unknown,
    /// A constant of `mpi.h`: [`Factor::constant`].
    Constant(u8),
    /// The argument.
    Argument(u8),
    /// What the argument points to, before the call.
    Pointee(u8),
    /// The elements of an array, added up.
    Sum(u8),
    /// The last element of an array.
    Last(u8),
    /// The size of a datatype in bytes; of an array of datatypes, each goes with an element of the sum.
    Size(u8),
    /// How many ranks take part in a collective operation on a communicator.
    Ranks(u8),
    /// How many neighbors a rank receives from.
    Sources(u8),
    /// How many neighbors a rank sends to.
    Destinations(u8),
    /// How many dimensions a Cartesian communicator has.
    Dimensions(u8),
}

impl Factor {
    /// The name of a constant of `mpi.h`.
    pub fn constant(self) -> Option<&'static str> {
        match self {
            Self::Constant(place) => CONSTANTS.get(usize::from(place)).copied(),
            _ => None,
        }
    }
}

impl Parameter {
    /// A row of the generated table, short enough to stay on one line.
    const fn row(name: u16, ctype: u16, kind: Kind, direction: Direction, length: u16, at_root: bool) -> Self {
        Self { name, ctype, length, kind, direction, at_root }
    }

    /// Its name in the newest standard.
    pub fn name(&self) -> &'static str {
        NAMES[usize::from(self.name)]
    }

    /// Its type in C, without the name: `const int[]`.
    pub fn ctype(&self) -> &'static str {
        TYPES[usize::from(self.ctype)]
    }

    /// How many elements there are: the product. A size among the factors makes it a number of bytes.
    pub fn length(&self) -> &'static [Factor] {
        LENGTHS[usize::from(self.length)]
    }
}

impl FnId {
    /// The fixed parameters, in their order.
    pub fn parameters(self) -> &'static [Parameter] {
        let all = self.with_result();
        &all[..all.len() - usize::from(self.result().is_some())]
    }

    /// What the function returns; `None` for nothing.
    pub fn result(self) -> Option<&'static Parameter> {
        self.with_result().last().filter(|parameter| parameter.direction == Direction::Result)
    }

    fn with_result(self) -> &'static [Parameter] {
        let start = |index: usize| usize::from(STARTS[index]);
        &PARAMETERS[start(self.index())..start(self.index() + 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::ResultKind;

    fn parameter(function: &str, name: &str) -> &'static Parameter {
        let id = FnId::by_name(function).unwrap_or_else(|| panic!("{function}"));
        id.parameters().iter().find(|parameter| parameter.name() == name).unwrap_or_else(|| panic!("{function} {name}"))
    }

    #[test]
    fn every_function_has_as_many_as_it_takes() {
        for id in FnId::all() {
            assert_eq!(id.parameters().len(), usize::from(id.function().args), "{}", id.name());
            assert!(id.parameters().iter().all(|parameter| parameter.direction != Direction::Result), "{}", id.name());
            let is_code = |result: &Parameter| result.ctype() == "int";
            assert_eq!(id.result().is_some_and(is_code), id.function().result == ResultKind::Int, "{}", id.name());
        }
    }

    #[test]
    fn lengths_name_parameters_of_the_right_kind() {
        for id in FnId::all() {
            for factor in id.parameters().iter().flat_map(Parameter::length) {
                let kind = |place: u8| id.parameters()[usize::from(place)].kind;
                let is_right = match *factor {
                    Factor::Size(place) => kind(place) == Kind::Datatype,
                    Factor::Ranks(place)
                    | Factor::Sources(place)
                    | Factor::Destinations(place)
                    | Factor::Dimensions(place) => kind(place) == Kind::Communicator,
                    Factor::Argument(place) | Factor::Pointee(place) | Factor::Sum(place) | Factor::Last(place) => {
                        use Kind::{Count, Degree, Dimension, Length, Number, Size};
                        matches!(kind(place), Count | Degree | Dimension | Length | Number | Size)
                    }
                    Factor::Constant(_) => factor.constant().is_some(),
                    Factor::Number(number) => number > 0,
                    Factor::Zero | Factor::Unknown => true,
                };
                assert!(is_right, "{} {factor:?}", id.name());
            }
        }
    }

    #[test]
    fn functions_that_everybody_knows() {
        let buffer = parameter("MPI_Send", "buf");
        assert_eq!((buffer.ctype(), buffer.kind, buffer.direction), ("const void *", Kind::Buffer, Direction::In));
        assert_eq!(buffer.length(), [Factor::Argument(1), Factor::Size(2)]);
        let gathered = parameter("MPI_Gather_c", "recvbuf");
        assert!(gathered.at_root);
        assert_eq!(gathered.length(), [Factor::Ranks(7), Factor::Argument(4), Factor::Size(5)]);
        assert_eq!(parameter("MPI_Wait", "request").direction, Direction::InOut);
        assert_eq!(parameter("MPI_Isend", "request").direction, Direction::Out);
        let time = FnId::by_name("MPI_Wtime").and_then(FnId::result);
        assert_eq!(time.map(|result| result.kind), Some(Kind::Seconds));
    }

    #[test]
    fn a_row_is_small() {
        assert_eq!(size_of::<Parameter>(), 10);
    }
}
