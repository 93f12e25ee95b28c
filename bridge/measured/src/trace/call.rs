//! A call with what its words mean; as a line of text, it is shown as `strace` shows system calls.
//!
//! ```text
//! MPI_Send(buf=0x7ffd6d6a8a9c, count=1, MPI_INT, dest=1, tag=0, MPI_COMM_WORLD) = MPI_SUCCESS <12.3 µs>
//! MPI_Isend(buf=0x7ffd6d6a8a9c, count=1, MPI_INT, dest=1, tag=0, comm#1, request=&request#1) = MPI_SUCCESS <1.2 µs>
//! MPI_Wait(request=&request#1 → MPI_REQUEST_NULL, status=MPI_STATUS_IGNORE) = MPI_SUCCESS <310 ns>
//! ```

use std::fmt;

use qmpi_abi::FnId;
use qmpi_abi::parameters::{Direction, Kind};

use crate::trace::objects::is_handle;
use crate::trace::sites::Site;

/// A call that came to a layer.
#[derive(Debug, Clone)]
pub(crate) struct RecordedCall {
    /// The thread, counted from 0 in the order of their first calls.
    pub(crate) thread: u32,
    /// Its number among the calls of its thread, at all layers; calls that are not recorded count as well.
    pub(crate) sequence: u64,
    /// How many calls of its thread it is inside of.
    pub(crate) depth: usize,
    pub(crate) function: FnId,
    /// The place in [`super::Recording::layers`] of the layer that called; 0 is the program.
    pub(crate) caller: usize,
    pub(crate) layer: usize,
    /// When it began, in nanoseconds since 1970.
    pub(crate) start_ns: u64,
    /// When it ended, on the same clock; `None` if it has not returned.
    pub(crate) end_ns: Option<u64>,
    /// How long it took, finer than whole nanoseconds.
    pub(crate) duration_ns: Option<f64>,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) result: Option<Decoded>,
    /// Where the program made the call, if no layer did.
    pub(crate) site: Option<Site>,
}

/// An argument.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Argument {
    /// The parameter's name in the standard.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// Whether the function reads or writes it.
    pub(crate) direction: Direction,
    /// What was passed: a number, a handle, an address.
    pub(crate) value: Decoded,
    /// What it points to, where the function reads that.
    pub(crate) before: Option<Decoded>,
    /// What it points to when the function has returned, where it writes there.
    pub(crate) after: Option<Decoded>,
}

/// What a word, or what it points to, means.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Decoded {
    Number(i64),
    /// `MPI_Wtime`'s.
    Float(f64),
    Flag(bool),
    /// A constant of `mpi.h`: of a handle, an address or a number.
    Constant(String),
    /// A handle that a call has made: `comm#1` is the first communicator that the program's first thread made, `comm#1@t2` the first of its
    /// thread 2, `outer:comm#1` the first that the layer `outer` made.
    Object(String),
    /// A handle whose making is not recorded.
    Handle(u64),
    Address(u64),
    /// Text, which may go on.
    Text(String),
    Status {
        source: Box<Decoded>,
        tag: Box<Decoded>,
        /// Bytes, where it is known how the MPI stores them.
        bytes: Option<u64>,
        cancelled: bool,
    },
    /// What is in a buffer.
    Content {
        bytes: u64,
        hash: u64,
    },
    /// An array; `all` is how many elements it has, of which the first are known.
    List {
        known: Vec<Decoded>,
        all: u64,
    },
}

impl Decoded {
    /// The elements of an array, as far as they are known; of others the value itself.
    pub(crate) fn elements(&self) -> &[Decoded] {
        match self {
            Decoded::List { known, .. } => known,
            one => std::slice::from_ref(one),
        }
    }
}

impl fmt::Display for RecordedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.function.name(), listed(&self.arguments))?;
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
        let is_plain = is_handle(self.kind) && !matches!(self.value, Decoded::Handle(_) | Decoded::Address(_));
        if !(is_plain && self.direction == Direction::In && self.before.is_none()) {
            write!(f, "{}=", self.name)?;
        }
        match (&self.before, &self.after) {
            (None, None) => write!(f, "{}", self.value),
            (Some(before), Some(after)) if before != after => write!(f, "{}{before} → {after}", sign(before)),
            (Some(only), _) | (None, Some(only)) => write!(f, "{}{only}", sign(only)),
        }
    }
}

/// What an address leads to is marked as such, where it could be taken for the argument.
fn sign(value: &Decoded) -> &'static str {
    if matches!(value, Decoded::List { .. } | Decoded::Text(_)) { "" } else { "&" }
}

impl fmt::Display for Decoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Float(number) => write!(f, "{number:.9}"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Constant(name) | Self::Object(name) => f.write_str(name),
            Self::Handle(word) | Self::Address(word) => write!(f, "{word:#x}"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Status { source, tag, bytes, cancelled } => {
                write!(f, "{{source={source}, tag={tag}")?;
                if let Some(bytes) = bytes {
                    write!(f, ", {bytes} bytes")?;
                }
                f.write_str(if *cancelled { ", cancelled}" } else { "}" })
            }
            Self::Content { bytes, hash } => write!(f, "{{{bytes} bytes, hash {hash:016x}}}"),
            Self::List { known, all } => {
                let more = all.saturating_sub(known.len() as u64);
                let more = if more > 0 { format!(", ... {more} more") } else { String::new() };
                write!(f, "[{}{more}]", listed(known))
            }
        }
    }
}

fn listed(values: &[impl ToString]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
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
