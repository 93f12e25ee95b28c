//! What the words of a call mean.

use qmpi_abi::parameters::{Direction, Factor, Kind, Parameter};
use qmpi_abi::trace::{AFTER, HAS_BYTES, IS_CANCELLED};

use crate::trace::call::{Argument, Decoded, MpiStatus};
use crate::trace::constants::{Constants, Family};
use crate::trace::file::{RawCall, RawValue};
use crate::trace::objects::{HandleNames, HandlePlace, elements, is_handle};

pub(super) fn arguments(call: &RawCall<'_>, constants: &Constants, names: &HandleNames<'_>) -> Vec<Argument> {
    let parameters = call.function.parameters();
    let is_set = is_set(call);
    let count = count_of_results(call);
    let argument = |(place, parameter): (usize, &Parameter)| {
        let word = call.word(place);
        let is_pointer = parameter.ctype().contains(['*', '[']);
        let find = |is_after: bool| call.value(place, is_after);
        let decode = |value: RawValue<'_>| {
            let mut value = pointee(&value, parameter, constants, names);
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
        Argument {
            name: parameter.name(),
            kind: parameter.kind,
            direction: parameter.direction,
            value: if is_pointer {
                address(parameter, word, constants)
            } else if call.function.name() == "MPI_Abort" && parameter.kind == Kind::ErrorCode {
                // What the program says to its environment is no code of MPI's.
                Decoded::Number(i64::from(word as i32))
            } else {
                scalar(parameter, word, constants, names.at(HandlePlace::word(place)))
            },
            before: before.map(decode),
            after: after.map(decode),
        }
    };
    parameters.iter().enumerate().map(argument).collect()
}

/// What is in a buffer.
fn content(value: &RawValue<'_>) -> Decoded {
    Decoded::Content { bytes: value.all, hash: elements(value).next().unwrap_or(0) }
}

pub(super) fn result(call: &RawCall<'_>, constants: &Constants, names: &HandleNames<'_>) -> Option<Decoded> {
    let parameter = call.function.result()?;
    if matches!(parameter.kind, Kind::Seconds) {
        return Some(Decoded::Float(f64::from_bits(call.record.result)));
    }
    Some(scalar(parameter, call.record.result, constants, names.at(HandlePlace::Result)))
}

/// Whether a function that says by a flag whether there is anything has set it: else what it would have stored means nothing.
fn is_set(call: &RawCall<'_>) -> bool {
    let parameters = call.function.parameters();
    let flag = parameters.iter().position(|parameter| {
        parameter.kind == Kind::Flag && parameter.direction == Direction::Out && parameter.name() == "flag"
    });
    let value = flag.and_then(|flag| call.value(flag, true));
    value.is_none_or(|value| elements(&value).next() != Some(0))
}

/// How many results are in the arrays of a function that tells so.
fn count_of_results(call: &RawCall<'_>) -> Option<u64> {
    let parameters = call.function.parameters();
    let count = parameters.iter().position(|parameter| parameter.name() == "outcount")?;
    elements(&call.value(count, true)?)
        .next()
        .map(|count| u64::from((count as u32).cast_signed().max(0).cast_unsigned()))
}

/// Addresses that stand for something.
fn address(parameter: &Parameter, word: u64, constants: &Constants) -> Decoded {
    let name = match parameter.kind {
        Kind::Buffer => {
            let in_place = constants.name(Kind::Buffer, word.cast_signed());
            in_place.filter(|name| *name != "MPI_BUFFER_AUTOMATIC" && word != 0)
        }
        // Both have one value.
        Kind::Status => {
            let name = if is_array(parameter) { "MPI_STATUSES_IGNORE" } else { "MPI_STATUS_IGNORE" };
            constants.value(name).filter(|value| *value == word.cast_signed()).map(|_| name)
        }
        kind => constants.name(kind, word.cast_signed()).filter(|_| kind == Kind::Weight),
    };
    match name {
        Some(name) => Decoded::Constant(name.to_owned()),
        None if word == 0 => Decoded::Constant("NULL".to_owned()),
        None => Decoded::Address(word),
    }
}

/// A word of the type of the parameter.
fn scalar(parameter: &Parameter, word: u64, constants: &Constants, object: Option<&str>) -> Decoded {
    let bytes = match parameter.ctype() {
        ctype if is_handle(parameter.kind) && ctype.starts_with("MPI_") => constants.handle_bytes(parameter.kind),
        "int" | "MPI_Fint" | "bool" => 4,
        _ => 8,
    };
    number(parameter.kind, word, bytes, constants, object)
}

/// What an argument points to.
fn pointee(value: &RawValue<'_>, parameter: &Parameter, constants: &Constants, names: &HandleNames<'_>) -> Decoded {
    match parameter.kind {
        Kind::Buffer => return content(value),
        _ if is_text(parameter) => return Decoded::Text(String::from_utf8_lossy(value.bytes).into_owned()),
        Kind::Status => {
            let statuses = value.bytes.chunks_exact(value.element.max(1)).map(|bytes| status(bytes, constants));
            return list(statuses.collect(), value, parameter);
        }
        _ => {}
    }
    let words = elements(value).enumerate().map(|(element, word)| {
        let object = names.at(HandlePlace::element(value.place, value.moment == AFTER, element));
        number(parameter.kind, word, value.element, constants, object)
    });
    list(words.collect(), value, parameter)
}

fn is_text(parameter: &Parameter) -> bool {
    parameter.ctype().trim_start_matches("const ").starts_with("char")
}

/// Does it point to as many elements as other arguments tell?
fn is_array(parameter: &Parameter) -> bool {
    !matches!(parameter.length(), [] | [Factor::Number(1)])
}

/// One value, or an array of them.
fn list(mut known: Vec<Decoded>, value: &RawValue<'_>, parameter: &Parameter) -> Decoded {
    match known.pop() {
        Some(only) if !is_array(parameter) && known.is_empty() => only,
        last => {
            known.extend(last);
            Decoded::List { known, all: value.all }
        }
    }
}

fn number(kind: Kind, word: u64, bytes: usize, constants: &Constants, object: Option<&str>) -> Decoded {
    let value = match bytes {
        1 => i64::from(word as u8),
        4 => i64::from(word as i32),
        _ => word.cast_signed(),
    };
    if let Some(object) = object {
        return Decoded::Object(object.to_owned());
    }
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
    let known = |name: &str| Some(name.to_owned());
    match kind {
        Kind::Buffer | Kind::Status | Kind::Weight => None,
        Kind::Assertion | Kind::AccessMode => constants.sum(kind, value),
        Kind::ErrorCode | Kind::ErrorClass => {
            if let Some(name) = constants.name(Kind::ErrorCode, value) {
                return known(name);
            }
            // MPICH's codes have the class in their lowest bits.
            let class = constants.name(Kind::ErrorCode, value & 0x7f)?;
            (constants.family == Family::Mpich && value > 0x7f).then(|| format!("{class}({value:#x})"))
        }
        Kind::Rank | Kind::Tag | Kind::Color | Kind::Index | Kind::Number | Kind::Length | Kind::Count if value < 0 => {
            let name = constants.name(kind, value).or_else(|| constants.name(Kind::Color, value));
            name.and_then(known)
        }
        Kind::Topology => constants.name(kind, value).or_else(|| constants.name(Kind::Color, value)).and_then(known),
        Kind::Rank | Kind::Tag | Kind::Color | Kind::Index | Kind::Number | Kind::Length | Kind::Count => None,
        kind => constants.name(kind, value).and_then(known),
    }
}

fn status(bytes: &[u8], constants: &Constants) -> Decoded {
    let int = |place: usize| {
        let word = bytes.get(4 * place..4 * place + 4).and_then(|bytes| bytes.try_into().ok());
        word.map_or(0, |word| u64::from(u32::from_le_bytes(word)))
    };
    let (source, tag, bytes, cancelled) = match constants.family {
        Family::Mpich => (int(2), int(3), Some((int(1) >> 1) << 32 | int(0)), int(1) & 1 == 1),
        Family::OpenMpi => (int(0), int(1), Some(int(5) << 32 | int(4)), int(3) != 0),
        Family::Abi => {
            let (flags, bytes) = (int(3) as u32, int(5) << 32 | int(4));
            (int(0), int(1), (flags & HAS_BYTES != 0).then_some(bytes), flags & IS_CANCELLED != 0)
        }
    };
    let [source, tag] =
        [(Kind::Rank, source), (Kind::Tag, tag)].map(|(kind, word)| Box::new(number(kind, word, 4, constants, None)));
    Decoded::Status(MpiStatus { source, tag, bytes, cancelled })
}
