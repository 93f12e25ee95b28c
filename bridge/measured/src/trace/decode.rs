//! What the words of a call mean.

use qmpi_abi::MpiFamily;
use qmpi_abi::parameters::{Direction, Factor, Kind, Parameter};
use qmpi_abi::trace::{AFTER, HAS_BYTES, IS_CANCELLED};

use crate::rank_record;
use crate::trace::call::{Argument, Decoded};
use crate::trace::constants::Constants;
use crate::trace::file::{RawCall, RawValue};
use crate::trace::objects::{HandlePlace, MadeObjects, elements, is_handle, is_pointer};

/// A call, and what its words are read by.
pub(super) struct Decoder<'a> {
    pub(super) call: &'a RawCall<'a>,
    /// Its number.
    pub(super) number: usize,
    pub(super) constants: &'a Constants,
    pub(super) objects: &'a MadeObjects,
}

impl Decoder<'_> {
    pub(super) fn arguments(&self) -> Vec<Argument> {
        let (is_set, count) = (self.is_set(), self.count_of_results());
        let parameters = self.call.function.parameters().iter().enumerate();
        parameters.map(|(place, parameter)| self.argument(place, parameter, is_set, count)).collect()
    }

    /// `is_set`, `count`: what the function says of its results.
    fn argument(&self, place: usize, parameter: &Parameter, is_set: bool, count: Option<u64>) -> Argument {
        let word = self.call.word(place);
        let find = |is_after: bool| self.call.value(place, is_after);
        let decode = |value: RawValue<'_>| {
            let mut value = self.pointee(&value, parameter);
            if let (Decoded::List { known, all }, Some(count)) = (&mut value, count)
                && parameter.direction == Direction::Out
            {
                known.truncate(count as usize);
                *all = count;
            }
            value
        };
        // What is only read is recorded when the function has returned, too.
        let (before, after) = match parameter.direction {
            // What is in it when the function has returned.
            _ if parameter.kind == Kind::Buffer => (None, find(true)),
            Direction::In => (find(true), None),
            Direction::InOut | Direction::Result => (find(false), find(true)),
            Direction::Out => (None, find(true).filter(|_| is_set || parameter.kind == Kind::Flag)),
        };
        let value = if is_pointer(parameter) {
            self.address(parameter, word)
        } else if self.call.function.name() == "MPI_Abort" && parameter.kind == Kind::ErrorCode {
            // What the program says to its environment is no code of MPI's.
            Decoded::Number(i64::from(word as i32))
        } else {
            self.scalar(parameter, word, HandlePlace::Word(place as u8))
        };
        let (name, kind, direction) = (parameter.name(), parameter.kind, parameter.direction);
        Argument { name, kind, direction, value, before: before.map(decode), after: after.map(decode) }
    }

    pub(super) fn result(&self) -> Option<Decoded> {
        let parameter = self.call.function.result().filter(|_| self.call.end.is_some())?;
        let word = self.call.result;
        match parameter.kind {
            Kind::Seconds => Some(Decoded::Float(f64::from_bits(word))),
            _ => Some(self.scalar(parameter, word, HandlePlace::Result)),
        }
    }

    /// What the first parameter points to that is like this, when the function has returned.
    fn stored(&self, is_it: impl Fn(&Parameter) -> bool) -> Option<u64> {
        let place = self.call.function.parameters().iter().position(is_it)?;
        elements(&self.call.value(place, true)?).next()
    }

    /// Whether a function that says by a flag whether there is anything has set it: else what it would have stored means nothing.
    fn is_set(&self) -> bool {
        let is_flag = |parameter: &Parameter| {
            parameter.kind == Kind::Flag && parameter.direction == Direction::Out && parameter.name() == "flag"
        };
        self.stored(is_flag) != Some(0)
    }

    /// How many results are in the arrays of a function that tells so.
    fn count_of_results(&self) -> Option<u64> {
        let count = self.stored(|parameter| parameter.name() == "outcount")?;
        Some(u64::from((count as i32).max(0).cast_unsigned()))
    }

    /// Addresses that stand for something.
    fn address(&self, parameter: &Parameter, word: u64) -> Decoded {
        let value = word.cast_signed();
        let name = match parameter.kind {
            Kind::Buffer => {
                let in_place = self.constants.name(Kind::Buffer, value);
                in_place.filter(|name| *name != "MPI_BUFFER_AUTOMATIC" && word != 0)
            }
            // Both have one value.
            Kind::Status => {
                let name = if is_array(parameter) { "MPI_STATUSES_IGNORE" } else { "MPI_STATUS_IGNORE" };
                (self.constants.value(name) == Some(value)).then_some(name)
            }
            Kind::Weight => self.constants.name(Kind::Weight, value),
            _ => None,
        };
        match name {
            Some(name) => Decoded::Constant(name.to_owned()),
            None if word == 0 => Decoded::Constant("NULL".to_owned()),
            None => Decoded::Address(word),
        }
    }

    /// A word of the type of the parameter.
    fn scalar(&self, parameter: &Parameter, word: u64, place: HandlePlace) -> Decoded {
        let bytes = match parameter.ctype() {
            ctype if is_handle(parameter.kind) && ctype.starts_with("MPI_") => {
                self.constants.handle_bytes(parameter.kind)
            }
            "int" | "MPI_Fint" | "bool" => 4,
            _ => 8,
        };
        self.word(parameter.kind, word, bytes, place)
    }

    /// What an argument points to.
    fn pointee(&self, value: &RawValue<'_>, parameter: &Parameter) -> Decoded {
        let known: Vec<Decoded> = match parameter.kind {
            Kind::Buffer => {
                return Decoded::Content { bytes: value.all, hash: elements(value).next().unwrap_or(0) };
            }
            _ if parameter.ctype().trim_start_matches("const ").starts_with("char") => {
                return Decoded::Text(String::from_utf8_lossy(value.bytes).into_owned());
            }
            Kind::Status => {
                let statuses = value.bytes.chunks_exact(value.element.max(1));
                statuses.map(|bytes| status(bytes, self.constants)).collect()
            }
            kind => {
                let place = |element| HandlePlace::element(value.place, value.moment == AFTER, element);
                let words = elements(value).enumerate();
                words.map(|(element, word)| self.word(kind, word, value.element, place(element))).collect()
            }
        };
        match &known[..] {
            [only] if !is_array(parameter) => only.clone(),
            _ => Decoded::List { known, all: value.all },
        }
    }

    /// A word of so many bytes, which is an object's handle if one is known there.
    fn word(&self, kind: Kind, word: u64, bytes: usize, place: HandlePlace) -> Decoded {
        match self.objects.name_at(self.number, place) {
            Some(object) => Decoded::Object(object.to_owned()),
            None => number(kind, word, bytes, self.constants),
        }
    }
}

/// Does it point to as many elements as other arguments tell?
fn is_array(parameter: &Parameter) -> bool {
    !matches!(parameter.length(), [] | [Factor::Number(1)])
}

fn number(kind: Kind, word: u64, bytes: usize, constants: &Constants) -> Decoded {
    let value = match bytes {
        1 => i64::from(word as u8),
        4 => i64::from(word as i32),
        _ => word.cast_signed(),
    };
    if let Some(name) = name(kind, value, constants) {
        return Decoded::Constant(name);
    }
    match kind {
        kind if is_handle(kind) => Decoded::Handle(if bytes == 4 { u64::from(word as u32) } else { word }),
        Kind::Flag => Decoded::Flag(value != 0),
        Kind::Address | Kind::MemoryPointer | Kind::Attribute | Kind::State | Kind::Callback | Kind::ToolHandle => {
            Decoded::Address(word)
        }
        _ => Decoded::Number(value),
    }
}

/// What a number of this kind is called.
fn name(kind: Kind, value: i64, constants: &Constants) -> Option<String> {
    // A rank, a tag and the like have the names of other numbers, too.
    let or_color = || constants.name(kind, value).or_else(|| constants.name(Kind::Color, value));
    let name = match kind {
        Kind::Buffer | Kind::Status | Kind::Weight => None,
        Kind::Assertion | Kind::AccessMode => return constants.sum(kind, value),
        Kind::ErrorCode | Kind::ErrorClass => {
            let known = constants.name(Kind::ErrorCode, value);
            // MPICH's codes have the class in their lowest bits.
            let is_code = constants.family == MpiFamily::Mpich && value > 0x7f;
            if let (None, true, Some(class)) = (known, is_code, constants.name(Kind::ErrorCode, value & 0x7f)) {
                return Some(format!("{class}({value:#x})"));
            }
            known
        }
        Kind::Topology => or_color(),
        Kind::Rank | Kind::Tag | Kind::Color | Kind::Index | Kind::Number | Kind::Length | Kind::Count => {
            or_color().filter(|_| value < 0)
        }
        kind => constants.name(kind, value),
    };
    name.map(str::to_owned)
}

fn status(bytes: &[u8], constants: &Constants) -> Decoded {
    let int = |place: usize| bytes.get(4 * place..4 * place + 4).map_or(0, rank_record::number);
    let (source, tag, bytes, cancelled) = match constants.family {
        MpiFamily::Mpich => (int(2), int(3), Some((int(1) >> 1) << 32 | int(0)), int(1) & 1 == 1),
        MpiFamily::OpenMpi => (int(0), int(1), Some(int(5) << 32 | int(4)), int(3) != 0),
        MpiFamily::StandardAbi => {
            let (flags, bytes) = (int(3) as u32, int(5) << 32 | int(4));
            (int(0), int(1), (flags & HAS_BYTES != 0).then_some(bytes), flags & IS_CANCELLED != 0)
        }
    };
    let [source, tag] =
        [(Kind::Rank, source), (Kind::Tag, tag)].map(|(kind, word)| Box::new(number(kind, word, 4, constants)));
    Decoded::Status { source, tag, bytes, cancelled }
}
