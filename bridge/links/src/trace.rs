//! What a probe records of each call for `qmpi run --trace`: arguments, result, times, and what arguments point to.
//!
//! All of it goes into a file that is mapped (`qmpi_abi::trace`), so that it is there however the process ends. What a thread records belongs
//! to it alone: no lock, no heap, and a system call only where a chunk of the file is full.
//!
//! | file | what |
//! |---|---|
//! | `captures.rs` | which arguments of a function point to something that a reader wants to see |
//! | `record.rs` | a call: what is written before and after it |
//! | `contents.rs` | what is in buffers, for comparisons |
//! | `datatypes.rs` | where the bytes of a buffer lie, and how they are read |
//! | `pending.rs`, `plan.rs` | buffers that will be filled when another call completes them |
//! | `completion.rs` | which functions complete what |
//! | `follow.rs` | a call among those that begin and complete something |
//! | `log.rs` | chunks of the file, and the limit of calls |
#![expect(unsafe_code, reason = "memory that is mapped, and arguments of the program")]

pub(crate) mod captures;
pub(crate) mod completion;
pub(crate) mod contents;
pub(crate) mod datatypes;
pub(crate) mod follow;
pub(crate) mod log;
pub(crate) mod pending;
pub(crate) mod plan;
pub(crate) mod record;

use std::ffi::CString;
use std::ptr;
use std::sync::OnceLock;

use qmpi_abi::FnId;
use qmpi_elf::MpiFamily;

use crate::probe;
use crate::questions::Questions;
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
    questions: Questions,
    /// The functions of MPI that tell where the elements of a datatype lie, if buffers are read.
    datatypes: Option<datatypes::Datatypes>,
    requests: SharedRequests,
}

/// The handles that MPI has for all requests that it completes at once.
#[derive(Debug, Clone, Copy)]
enum SharedRequests {
    /// Builtin handles, whose highest bits are 01 (mpich: src/include/mpir_objects.h).
    Builtin,
    /// This one.
    One(u64),
    /// Some, of which it is not known which.
    Unknown,
}

impl SharedRequests {
    fn is_shared(self, handle: u64) -> bool {
        match self {
            Self::Builtin => handle as u32 >> 30 == 1,
            Self::One(shared) => handle == shared,
            Self::Unknown => false,
        }
    }

    fn is_known(self) -> bool {
        !matches!(self, Self::Unknown)
    }
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

/// Makes probes that record calls, into the file at `path`, which [`start_file`] begins; `has_contents`: and what is in buffers. `real` finds
/// functions of the MPI library, and `objects` are the addresses of Open MPI's variables by their names.
pub fn prepare(
    limit: Limit,
    has_contents: bool,
    family: MpiFamily,
    path: CString,
    real: impl Fn(FnId) -> Option<usize>,
    objects: &[(String, usize)],
) {
    let questions = Questions::new(family, &real);
    let datatypes = has_contents.then(|| datatypes::Datatypes::new(family, &real, objects));
    if has_contents {
        pending::prepare();
    }
    let empty = objects.iter().find(|(name, _)| name == "ompi_request_empty").map_or(0, |(_, address)| *address);
    let requests = match family {
        MpiFamily::Mpich => SharedRequests::Builtin,
        MpiFamily::OpenMpi => SharedRequests::One(empty as u64),
        MpiFamily::StandardAbi => SharedRequests::Unknown,
    };
    // It is prepared once.
    let _ = SETTINGS.set(Settings { limit, family, path, questions, datatypes, requests });
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
    /// Whether there is one whose value is of interest before the call.
    pub(crate) has_before: bool,
    /// What is in buffers, if that was asked for and can be known.
    pub(crate) contents: Option<contents::Contents>,
    /// What it completes or starts, if that was asked for.
    pub(crate) role: Option<completion::Role>,
}

impl Traced {
    /// `None` if calls are not recorded.
    pub(crate) fn new(call: Call) -> Option<&'static Traced> {
        let settings = settings()?;
        if settings.datatypes.is_none() {
            return Self::with(call, None, None);
        }
        let contents = contents::Contents::of(call.function, call.leading);
        Self::with(call, contents, completion::role(call.function, settings.family))
    }

    /// The same, and buffers are left alone: of calls that are none of MPI's.
    pub(crate) fn without_contents(call: Call) -> Option<&'static Traced> {
        Self::with(call, None, None)
    }

    fn with(
        call: Call,
        contents: Option<contents::Contents>,
        role: Option<completion::Role>,
    ) -> Option<&'static Traced> {
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
            has_before: captures.iter().any(|capture| capture.before),
            captures: Box::leak(captures.into_boxed_slice()),
            contents,
            role,
        };
        Some(Box::leak(Box::new(traced)))
    }
}

/// Bytes that a call takes in [`record_to`].
pub(crate) const ROOM: usize = 128;

/// Makes the calling thread record what comes to the program, to which nothing comes, into this memory; empty: into none, and all is forgotten.
pub(crate) fn record_to(memory: &mut [u8]) {
    let Some(recorder) = probe::of_this_thread().filter(|_| settings().is_some()) else { return };
    let log = ptr::with_exposed_provenance_mut::<log::Log>(recorder.logs);
    // SAFETY: the log of this thread.
    let log = unsafe { &mut *log };
    if memory.is_empty() {
        log.forget();
        recorder.begin_again();
    } else {
        log.record_to(recorder.number, memory);
    }
}

/// Bytes that each recorder has for the logs of its thread.
pub(crate) fn logs_size(layers: usize) -> usize {
    if SETTINGS.get().is_some() { layers * size_of::<log::Log>() } else { 0 }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::os::unix::ffi::OsStrExt;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use qmpi_abi::trace::{AFTER, Chunk, HEAD, RETURNED, Record, Value};

    use super::*;
    use crate::conversion::Arity;
    use crate::probe::Probe;

    static REQUEST: AtomicUsize = AtomicUsize::new(0);

    /// As `MPI_Ineighbor_alltoallw` has ten arguments, the last one a request that it stores.
    #[rustfmt::skip]
    extern "C" fn ten(
        a: u64, b: u64, c: u64, d: u64, e: u64, f: u64, g: u64, h: u64, i: u64, request: *mut u64,
    ) -> u64 {
        // SAFETY: the test's variable.
        unsafe { request.write(0xfeed) };
        REQUEST.store(request.addr(), Ordering::Relaxed);
        let sum: u64 = [a, b, c, d, e, f, g, h, i].iter().zip(1..).map(|(word, place)| word * place).sum();
        // An error code of 0, in the lower half.
        sum << 32
    }

    extern "C" fn time(_: *const u64) -> f64 {
        1.5
    }

    type Ten = extern "C" fn(u64, u64, u64, u64, u64, u64, u64, u64, u64, *mut u64) -> u64;

    fn word(bytes: &[u8], place: usize) -> u64 {
        u64::from_le_bytes(bytes[place..place + 8].try_into().unwrap())
    }

    /// One test: what is prepared is one for the process.
    #[test]
    fn calls_are_in_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("calls");
        let name = CString::new(path.as_os_str().as_bytes()).unwrap();
        probe::prepare(3, 100);
        prepare(Limit::First(3), false, MpiFamily::OpenMpi, name, |_| None, &[]);
        start_file("{}\n").unwrap();
        let id = |name: &str| FnId::by_name(name).unwrap();
        let link = |target: *const (), function: FnId, words: u8, leading: u8| {
            let call = Call { function, leading };
            Probe::recording(target.addr(), Arity::Fixed(words), 2, call).unwrap().unwrap().1
        };
        let function = id("MPI_Ineighbor_alltoallw");
        assert_eq!(function.parameters().len(), 10);
        // SAFETY: the link of that function.
        let call = unsafe { std::mem::transmute::<usize, Ten>(link(ten as *const (), function, 10, 0)) };
        let mut request = 0;
        let result = call(1, 2, 3, 4, 5, 6, 7, 8, 9, &raw mut request);
        assert_eq!((result, request), (285 << 32, 0xfeed));
        let wtime = link(time as *const (), id("MPI_Wtime"), 0, 0);
        // SAFETY: as above.
        let wtime = unsafe { std::mem::transmute::<usize, extern "C" fn(*const u64) -> f64>(wtime) };
        assert!((wtime(&raw const request) - 1.5).abs() < 1e-9);
        for _ in 0..10 {
            call(1, 2, 3, 4, 5, 6, 7, 8, 9, &raw mut request);
        }

        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(&bytes[..3], b"{}\n");
        let chunk = &bytes[HEAD..];
        let (used, layer, unrecorded) = (word(chunk, 16) as usize, word(chunk, 32), word(chunk, 56));
        assert_eq!((layer, unrecorded), (2, 9), "three of twelve");
        let mut records = Vec::new();
        let mut place = size_of::<Chunk>();
        while place < used {
            let size = u32::from_le_bytes(chunk[place..place + 4].try_into().unwrap()) as usize;
            records.push(&chunk[place..place + size]);
            place += size;
        }
        assert_eq!(records.len(), 3);
        let first = records[0];
        let head = size_of::<Record>();
        assert_eq!(u16::from_le_bytes([first[4], first[5]]), function.index() as u16);
        assert_eq!((first[6], first[7]), (10, RETURNED));
        let words: Vec<u64> = (0..9).map(|place| word(first, head + 8 * place)).collect();
        assert_eq!(words, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(word(first, head + 72) as usize, REQUEST.load(Ordering::Relaxed));
        assert!(word(first, 24) > 0 && word(first, 24) < word(first, 32), "it has a beginning and an end");
        let value = head + 80;
        assert_eq!((first[value], first[value + 1], first[value + 2]), (9, AFTER, 8), "the request");
        assert_eq!(word(first, value + size_of::<Value>()), 0xfeed);
        assert_eq!(
            first.len(),
            value + size_of::<Value>() + 8,
            "and nothing else: arrays have small numbers for addresses"
        );
        assert_eq!(f64::from_bits(word(records[1], 40)), 1.5);
    }
}
