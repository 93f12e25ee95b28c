//! The arguments of a call, read by what the table of parameters says of them: numbers, arrays, handles, and how many elements something has.
//!
//! Arguments are looked at when the call has succeeded: then MPI has read the same, and questions about them are allowed.
#![expect(unsafe_code, reason = "arrays of the program")]

use std::ptr;

use qmpi_abi::parameters::{Direction, Factor, Kind, Parameter};
use qmpi_abi::{FnId, MpiFamily};

use crate::mpi::{LOWEST, Mpi};
use crate::thread::ThreadMemory;

/// A function and its parameters.
#[derive(Debug)]
pub(crate) struct Signature {
    pub(crate) function: FnId,
    pub(crate) parameters: &'static [Parameter],
    /// Bytes of each, or of an element of what it points to; 0 for characters, and for what has no size.
    widths: Vec<u8>,
    /// In reductions arrays follow the local group, also between two groups.
    is_reduction: bool,
}

/// A call of a function: its arguments, the thread that makes it, and the layers that are called and that call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallArguments<'a> {
    pub(crate) signature: &'a Signature,
    pub(crate) words: &'a [u64],
    pub(crate) mpi: &'static Mpi,
    pub(crate) thread: &'static ThreadMemory,
    pub(crate) layer: usize,
    pub(crate) caller: usize,
}

/// Does the parameter point to something?
pub(crate) fn is_pointer(parameter: &Parameter) -> bool {
    parameter.ctype().contains(['*', '['])
}

/// Does it point to an array?
pub(crate) fn is_array(parameter: &Parameter) -> bool {
    parameter.ctype().contains('[')
}

fn width(parameter: &Parameter, abi: MpiFamily) -> u8 {
    if matches!(parameter.kind, Kind::Attribute | Kind::MemoryPointer) {
        return 8;
    }
    match parameter.ctype().trim_start_matches("const ").split(['*', '[']).next().unwrap_or_default().trim() {
        "bool" => 1,
        "int" | "MPI_Fint" | "float" => 4,
        "double" | "unsigned long long" | "MPI_Aint" | "MPI_Count" | "MPI_Offset" | "MPI_File" => 8,
        "MPI_Status" => [20, 24, 32][abi as usize],
        _ => match parameter.kind {
            // The handles of MPI are the first kinds.
            kind if kind <= Kind::Session => [4, 8, 8][abi as usize],
            Kind::ToolHandle => 8,
            _ => 0,
        },
    }
}

/// The number in a word.
#[inline]
fn signed(word: u64, width: u8) -> i64 {
    if width == 4 { i64::from(word as i32) } else { word.cast_signed() }
}

/// The number of elements in a word; none if it is negative.
#[inline]
pub(crate) fn number(word: u64, width: u8) -> u64 {
    signed(word, width).max(0).cast_unsigned()
}

/// An argument.
#[inline]
pub(crate) fn word(words: &[u64], place: u8) -> u64 {
    words.get(usize::from(place)).copied().unwrap_or(0)
}

impl Signature {
    pub(crate) fn of(function: FnId, abi: MpiFamily) -> Signature {
        let parameters = function.parameters();
        Signature {
            function,
            parameters,
            widths: parameters.iter().map(|parameter| width(parameter, abi)).collect(),
            is_reduction: parameters.iter().any(|parameter| parameter.kind == Kind::Op),
        }
    }

    /// The first parameter of which this holds.
    pub(crate) fn place(&self, is_it: impl FnMut(&Parameter) -> bool) -> Option<u8> {
        self.parameters.iter().position(is_it).map(|place| place as u8)
    }

    pub(crate) fn of_kind(&self, kind: Kind) -> Option<u8> {
        self.place(|parameter| parameter.kind == kind)
    }

    /// The first one of this kind by which the function returns something.
    pub(crate) fn result(&self, kind: Kind) -> Option<u8> {
        self.place(|parameter| parameter.kind == kind && parameter.direction == Direction::Out)
    }

    pub(crate) fn rank(&self, name: &str) -> Option<u8> {
        self.place(|parameter| parameter.kind == Kind::Rank && parameter.name() == name)
    }

    /// Does the function's name end with one of these?
    pub(crate) fn ends_with(&self, ends: &[&str]) -> bool {
        ends.iter().any(|end| self.function.name().ends_with(end))
    }

    pub(crate) fn parameter(&self, place: u8) -> &'static Parameter {
        &self.parameters[usize::from(place)]
    }

    pub(crate) fn width(&self, place: u8) -> u8 {
        self.widths[usize::from(place)]
    }
}

impl CallArguments<'_> {
    pub(crate) fn word(&self, place: u8) -> u64 {
        word(self.words, place)
    }

    /// A number of elements; none if it is negative.
    pub(crate) fn number(&self, place: u8) -> u64 {
        number(self.word(place), self.signature.width(place))
    }

    /// An element of an array; 0 if there is no array.
    pub(crate) fn element(&self, place: u8, index: u64) -> u64 {
        let (address, width) = (self.word(place), self.signature.width(place));
        if address < LOWEST {
            return 0;
        }
        let address = address as usize + index as usize * usize::from(width);
        if width == 4 {
            // SAFETY: MPI has read or written the array, which has so many elements.
            u64::from(unsafe { ptr::with_exposed_provenance::<u32>(address).read_unaligned() })
        } else {
            // SAFETY: MPI has read or written the array, which has so many elements.
            unsafe { ptr::with_exposed_provenance::<u64>(address).read_unaligned() }
        }
    }

    /// An element that is a number.
    pub(crate) fn signed_element(&self, place: u8, index: u64) -> i64 {
        signed(self.element(place, index), self.signature.width(place))
    }

    /// An element that is a number of elements; none if it is negative.
    pub(crate) fn number_element(&self, place: u8, index: u64) -> u64 {
        number(self.element(place, index), self.signature.width(place))
    }

    /// The address that an argument is; `None` for null and for what stands for something, as `MPI_STATUS_IGNORE` does.
    pub(crate) fn address(&self, place: u8) -> Option<u64> {
        Some(self.word(place)).filter(|word| (LOWEST..u64::MAX).contains(word))
    }

    /// A handle that is the argument, or that stands in an array at its address; `None`: there is no array.
    pub(crate) fn handle(&self, place: u8, index: usize) -> Option<u64> {
        if is_pointer(self.signature.parameter(place)) {
            return self.address(place).map(|_| self.element(place, index as u64));
        }
        let word = self.word(place);
        Some(if self.signature.width(place) == 4 { word & 0xffff_ffff } else { word })
    }

    /// Bytes of an element of a datatype; 0 if MPI does not say.
    pub(crate) fn type_size(&self, datatype: u64) -> u64 {
        self.thread.sizes.of(datatype, self.mpi)
    }

    /// How many elements these are: the product.
    pub(crate) fn product(&self, factors: &[Factor]) -> u64 {
        factors.iter().map(|factor| self.factor(*factor)).fold(1, u64::saturating_mul)
    }

    /// A factor; 0 if it is not known.
    pub(crate) fn factor(&self, factor: Factor) -> u64 {
        match factor {
            Factor::Number(number) => number.into(),
            Factor::Argument(place) => self.number(place),
            Factor::Pointee(place) => self.number_element(place, 0),
            Factor::Ranks(place) => self.mpi.ranks(self.word(place), self.signature.is_reduction),
            Factor::Sources(place) => self.mpi.neighbors(self.word(place))[0],
            Factor::Destinations(place) => self.mpi.neighbors(self.word(place))[1],
            Factor::Dimensions(place) => self.mpi.dimensions(self.word(place)),
            Factor::Size(place) => self.type_size(self.word(place)),
            Factor::Sum(_) | Factor::Last(_) | Factor::Zero | Factor::Constant(_) | Factor::Unknown => 0,
        }
    }
}
