//! What a probe records of each call for `qmpi run --trace`: arguments, result, times, and what arguments point to.
//!
//! All of it goes into a file that is mapped (`qmpi_abi::trace`), so that it is there however the process ends. What a thread records belongs
//! to it alone: no lock, no heap, and a system call only where a chunk of the file is full.
//!
//! | file | what |
//! |---|---|
//! | `captures.rs` | which arguments of a function point to something that a reader wants to see |
//! | `record.rs` | a call: what is written before and after it |
//! | `log.rs` | chunks of the file, and the limit of calls |
#![expect(unsafe_code, reason = "memory that is mapped, and arguments of the program")]

pub(crate) mod captures;
pub(crate) mod log;
pub(crate) mod record;

use std::ffi::CString;
use std::sync::OnceLock;

use qmpi_abi::FnId;
use qmpi_elf::MpiFamily;

use crate::links::probe;
pub use log::{lost, start_file};

/// Which calls are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// So many that each thread makes first at each layer.
    First(u64),
    /// At least so many that each thread makes last at each layer.
    Last(u64),
    /// All.
    All,
}

/// A call that a probe sees: which function it is, and how many words come before its arguments.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// The function.
    pub function: FnId,
    /// 2 where the id of the tool and a context come first.
    pub leading: u8,
}

/// What holds for all calls.
#[derive(Debug)]
pub(crate) struct Settings {
    limit: Limit,
    family: MpiFamily,
    path: CString,
    /// `PMPI_Comm_size` and the like, in the order of [`captures::QUESTIONS`]; 0 for one that the MPI does not have.
    questions: [usize; captures::QUESTIONS.len()],
}

impl Settings {
    pub(crate) fn keeps_last(&self) -> bool {
        matches!(self.limit, Limit::Last(_))
    }
}

static SETTINGS: OnceLock<Settings> = OnceLock::new();

/// What was asked for; `None` if nothing.
pub(crate) fn settings() -> Option<&'static Settings> {
    SETTINGS.get()
}

/// Makes probes that record calls, into the file at `path`, which [`start_file`] begins. `real` finds functions of the MPI library.
pub fn prepare(limit: Limit, family: MpiFamily, path: CString, real: impl Fn(FnId) -> Option<usize>) {
    let questions = captures::QUESTIONS.map(|name| FnId::by_name(name).and_then(&real).unwrap_or(0));
    // It is prepared once.
    let _ = SETTINGS.set(Settings { limit, family, path, questions });
}

/// What a probe knows of the function in order to record its calls.
#[derive(Debug)]
pub(crate) struct Traced {
    pub(crate) call: Call,
    pub(crate) arguments: usize,
    /// Where the result is: a floating-point register, for `MPI_Wtime`.
    pub(crate) is_float: bool,
    /// Whether a result that is not 0 means that nothing was stored.
    pub(crate) is_error_code: bool,
    /// Bytes of a record without arrays.
    pub(crate) size: usize,
    pub(crate) captures: &'static [captures::Capture],
}

impl Traced {
    /// `None` if calls are not recorded.
    pub(crate) fn new(call: Call) -> Option<&'static Traced> {
        let settings = settings()?;
        let function = call.function.function();
        let captures = captures::of(call.function, settings.family);
        let arguments = usize::from(function.args);
        let traced = Traced {
            call,
            arguments,
            is_float: function.result == qmpi_abi::ResultKind::Double,
            is_error_code: call
                .function
                .result()
                .is_some_and(|result| result.kind == qmpi_abi::parameters::Kind::ErrorCode),
            size: size_of::<qmpi_abi::trace::Record>() + 8 * arguments,
            captures: Box::leak(captures.into_boxed_slice()),
        };
        Some(Box::leak(Box::new(traced)))
    }
}

/// Bytes that each recorder has for the logs of its thread.
pub(crate) fn logs_size(layers: usize) -> usize {
    if SETTINGS.get().is_some() { layers * size_of::<log::Log>() } else { 0 }
}

/// The logs of the thread whose recorder this is.
pub(crate) fn logs_of(recorder: usize) -> usize {
    recorder + probe::logs_offset()
}
