//! A call as a line of text, as `strace` shows system calls.
//!
//! ```text
//! MPI_Send(buf=0x7ffd6d6a8a9c, count=1, MPI_INT, dest=1, tag=0, MPI_COMM_WORLD) = MPI_SUCCESS <12.3 µs>
//! MPI_Isend(buf=0x7ffd6d6a8a9c, count=1, MPI_INT, dest=1, tag=0, comm#1, request=&request#1) = MPI_SUCCESS <1.2 µs>
//! MPI_Wait(request=&request#1 → MPI_REQUEST_NULL, status=MPI_STATUS_IGNORE) = MPI_SUCCESS <310 ns>
//! ```

use std::fmt;

use qmpi_abi::parameters::{Direction, Kind};

use crate::measured::trace::objects::is_handle;
use crate::measured::trace::{Argument, Call, Value};

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.function.name())?;
        for (place, argument) in self.arguments.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{argument}")?;
        }
        f.write_str(")")?;
        match (&self.result, self.duration_ns) {
            (Some(result), Some(time)) => write!(f, " = {result} <{}>", duration(time)),
            (None, Some(time)) => write!(f, " <{}>", duration(time)),
            (_, None) => f.write_str(" = ? <not returned>"),
        }
    }
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A handle, and an address that stands for something, say by their names what they are.
        let is_plain = is_handle(self.kind) && !matches!(self.value, Value::Handle(_) | Value::Address(_));
        if !(is_plain && self.direction == Direction::In && self.before.is_none()) {
            write!(f, "{}=", self.name)?;
        }
        match (&self.before, &self.after) {
            (None, None) => write!(f, "{}", self.value),
            (Some(before), None) => write!(f, "{}{before}", sign(before)),
            (None, Some(after)) => write!(f, "{}{after}", sign(after)),
            (Some(before), Some(after)) if before == after => write!(f, "{}{before}", sign(before)),
            (Some(before), Some(after)) => write!(f, "{}{before} → {after}", sign(before)),
        }
    }
}

/// What an address leads to is marked as such, where it could be taken for the argument.
fn sign(value: &Value) -> &'static str {
    if matches!(value, Value::List { .. } | Value::Text(_)) { "" } else { "&" }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Float(number) => write!(f, "{number:.9}"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Constant(name) | Self::Object(name) => f.write_str(name),
            Self::Handle(word) | Self::Address(word) => write!(f, "{word:#x}"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Status(status) => {
                write!(f, "{{source={}, tag={}", status.source, status.tag)?;
                if let Some(bytes) = status.bytes {
                    write!(f, ", {bytes} bytes")?;
                }
                f.write_str(if status.cancelled { ", cancelled}" } else { "}" })
            }
            Self::Content { bytes, hash } => write!(f, "{{{bytes} bytes, hash {hash:016x}}}"),
            Self::List { known, all } => {
                f.write_str("[")?;
                for (place, value) in known.iter().enumerate() {
                    write!(f, "{}{value}", if place == 0 { "" } else { ", " })?;
                }
                let more = all.saturating_sub(known.len() as u64);
                if more > 0 { write!(f, ", ... {more} more]") } else { f.write_str("]") }
            }
        }
    }
}

/// Whether two runs of a program may differ in it: addresses do.
impl Argument {
    /// Is the argument an address, which differs from run to run?
    #[must_use]
    pub fn is_address(&self) -> bool {
        matches!(self.value, Value::Address(_)) || matches!(self.kind, Kind::State | Kind::Callback)
    }
}

/// A time in the unit that leaves up to three digits before the point.
fn duration(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{:.1} µs", ns / 1e3),
        ns if ns < 1e9 => format!("{:.1} ms", ns / 1e6),
        ns => format!("{:.2} s", ns / 1e9),
    }
}
