//! The calls that `qmpi run --trace` recorded, with what their words mean: handles by name, arrays, strings, statuses.
//!
//! [`each`] is the way in. A rank's calls are in the order in which they began; what a layer makes of a call follows it, one deeper.
//!
//! | file | what |
//! |---|---|
//! | `file.rs` | the file of a rank (`qmpi_abi::trace`), as it is |
//! | `constants.rs` | what values are called, in each MPI |
//! | `nesting.rs` | which call is inside of which |
//! | `objects.rs` | handles that the program makes: each is named by the call that made it |
//! | `sites.rs` | where the program makes its calls |
//! | `call.rs` | a call with its arguments, also as a line of text |
//! | `decode.rs` | what the words of a call mean |

pub(crate) mod call;
mod constants;
mod decode;
mod file;
mod nesting;
mod objects;
mod sites;

use std::path::Path;

use qmpi_abi::FnId;

use crate::{MeasuredError, rank_file};

pub(crate) use call::{Argument, Decoded, RecordedCall};
pub(crate) use sites::{Lines, Site};

/// Tells what each rank of a job has recorded, by rank; processes that were spawned come behind those of the same rank. It is one by one, as
/// what a rank has recorded takes much memory when all of it is made sense of.
///
/// # Errors
/// [`MeasuredError::Report`] if the directory has no trace, or one that is not understood.
pub(crate) fn each(directory: &Path, mut tell: impl FnMut(&Recording<'_>)) -> Result<(), MeasuredError> {
    let mut paths = rank_file::paths(directory, |path| rank_file::trace_numbers(path).is_some())?;
    paths.sort_by_key(|path| rank_file::trace_numbers(path));
    if paths.is_empty() {
        return Err(MeasuredError::report(directory, "no calls are recorded there: they are with `qmpi run --trace`"));
    }
    for path in &paths {
        let bytes = std::fs::read(path).map_err(|error| MeasuredError::report(path, error))?;
        let file = file::TraceFile::parse(&bytes).map_err(|error| MeasuredError::report(path, error))?;
        tell(&Recording::of(&file));
    }
    Ok(())
}

/// What one rank recorded, of which calls are made sense of one by one.
#[derive(Debug)]
pub(crate) struct Recording<'a> {
    /// What the process said of itself, and the calls as it has recorded them.
    pub(crate) file: &'a file::TraceFile<'a>,
    constants: constants::Constants,
    objects: objects::MadeObjects,
    /// How many calls of its thread each call is inside of.
    depths: Vec<usize>,
    clock: file::Clock,
}

impl<'a> Recording<'a> {
    /// Of a file.
    pub(crate) fn of(file: &'a file::TraceFile<'a>) -> Self {
        let constants = constants::Constants::new(file.head.family, &file.head.objects);
        let nesting::Nesting { events, depths } = nesting::Nesting::of(&file.calls);
        let objects = objects::MadeObjects::of(&file.calls, &events, &constants, &file.head.layers);
        Self { file, constants, objects, depths, clock: file.clock() }
    }

    /// The program, layers from the outermost inwards, the MPI library.
    pub(crate) fn layers(&self) -> &[String] {
        &self.file.head.layers
    }

    /// The place of the MPI library.
    pub(crate) fn mpi(&self) -> usize {
        self.layers().len().saturating_sub(1)
    }

    /// Were there more calls than were recorded?
    pub(crate) fn is_cut(&self) -> bool {
        self.file.head.lost.is_some_and(|lost| lost > 0) || self.file.beyond_limit.values().any(|calls| *calls > 0)
    }

    /// The calls in the order in which they began.
    pub(crate) fn calls(&self) -> impl Iterator<Item = RecordedCall> + '_ {
        self.calls_that(|_, _| true)
    }

    /// Those to these layers and functions.
    pub(crate) fn calls_that<'b>(
        &'b self,
        is_it: impl Fn(usize, FnId) -> bool + 'b,
    ) -> impl Iterator<Item = RecordedCall> + 'b {
        let calls = self.outlines().enumerate().filter(move |(_, call)| is_it(call.layer, call.function));
        calls.map(|(number, outline)| {
            let call = &self.file.calls[number];
            let decoder = decode::Decoder { call, number, constants: &self.constants, objects: &self.objects };
            RecordedCall { arguments: decoder.arguments(), result: decoder.result(), ..outline }
        })
    }

    /// The calls without their arguments and results.
    pub(crate) fn outlines(&self) -> impl Iterator<Item = RecordedCall> + '_ {
        self.file.calls.iter().zip(&self.depths).map(move |(call, depth)| RecordedCall {
            thread: call.thread,
            sequence: call.sequence,
            depth: *depth,
            function: call.function,
            caller: call.caller,
            layer: call.layer,
            start_ns: self.clock.nanoseconds(call.start),
            end_ns: call.end.map(|end| self.clock.nanoseconds(end)),
            duration_ns: call.end.map(|end| end.saturating_sub(call.start) as f64 * self.clock.ns_per_tick),
            arguments: Vec::new(),
            result: None,
            site: self.file.head.code.iter().find_map(|code| code.site(call.site)),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::file::written::{Written, file};
    use super::*;

    const COMM_WORLD: u64 = 0x4400_0000;
    const NULL: u64 = 0x0400_0000;

    /// `MPI_Comm_dup` that a layer hands up, beside one that the layer makes for itself; then both are freed and a value is used again.
    fn calls() -> Vec<Written> {
        let call =
            |function, layers, times, words, values| Written { function, layers, thread: 0, times, words, values };
        let dup = |layers, start, end, new: u64| {
            call("MPI_Comm_dup", layers, (start, Some(end)), vec![COMM_WORLD, 0x7f00], vec![(1, true, 4, vec![new])])
        };
        let free = |layers, start, end, old: u64| {
            let values = vec![(0, false, 4, vec![old]), (0, true, 4, vec![NULL])];
            call("MPI_Comm_free", layers, (start, Some(end)), vec![0x7f00], values)
        };
        // Words have any upper halves.
        let rank = |start, comm: u64| {
            let words = vec![comm | 0xdead_0000_0000_0000, 0x7f00];
            call("MPI_Comm_rank", (0, 1), (start, Some(start + 1)), words, vec![(1, true, 4, vec![2])])
        };
        vec![
            dup((0, 2), 10, 50, 0x8400_0001),
            dup((2, 1), 20, 25, 0x8400_0000),
            dup((2, 1), 30, 35, 0x8400_0001),
            rank(60, 0x8400_0001),
            rank(62, 0x8400_0000),
            free((0, 1), 70, 75, 0x8400_0001),
            dup((0, 1), 80, 85, 0x8400_0001),
            call("MPI_Barrier", (0, 1), (90, None), vec![0x8400_0001], Vec::new()),
        ]
    }

    #[test]
    fn objects_are_named_by_those_who_made_them() {
        // Ticks of one, seven, and of more than all of it takes.
        for tick in [1, 7, 1000] {
            named_on_a_clock_with_ticks_of(tick);
        }
    }

    fn named_on_a_clock_with_ticks_of(tick: u64) {
        let mut calls = calls();
        for call in &mut calls {
            call.times = (call.times.0 / tick + 1, call.times.1.map(|end| end / tick + 1));
        }
        let bytes = file("mpich", "all", "{}", &calls);
        let file = file::TraceFile::parse(&bytes).unwrap();
        let trace = Recording::of(&file);
        assert_eq!(trace.layers(), ["program", "outer", "MPI"]);
        let lines: Vec<String> = trace.calls().map(|call| call.to_string()).collect();
        let lines: Vec<&str> = lines.iter().map(|line| line.split(" <").next().unwrap_or_default()).collect();
        assert_eq!(
            lines,
            [
                "MPI_Comm_dup(MPI_COMM_WORLD, newcomm=&comm#1) = MPI_SUCCESS",
                "MPI_Comm_dup(MPI_COMM_WORLD, newcomm=&outer:comm#1) = MPI_SUCCESS",
                "MPI_Comm_dup(MPI_COMM_WORLD, newcomm=&comm#1) = MPI_SUCCESS",
                "MPI_Comm_rank(comm#1, rank=&2) = MPI_SUCCESS",
                "MPI_Comm_rank(outer:comm#1, rank=&2) = MPI_SUCCESS",
                "MPI_Comm_free(comm=&comm#1 → MPI_COMM_NULL) = MPI_SUCCESS",
                "MPI_Comm_dup(MPI_COMM_WORLD, newcomm=&comm#2) = MPI_SUCCESS",
                "MPI_Barrier(comm#2) = ?",
            ]
        );
        let places: Vec<(usize, usize, usize)> =
            trace.outlines().map(|call| (call.caller, call.layer, call.depth)).collect();
        assert_eq!(places[..4], [(0, 1, 0), (1, 2, 1), (1, 2, 1), (0, 2, 0)]);
        assert_eq!(file.beyond_limit, BTreeMap::from([(2, 2)]));
    }

    #[test]
    fn handles_of_each_family() {
        let send = |datatype, comm| {
            vec![Written {
                function: "MPI_Send",
                layers: (0, 1),
                thread: 0,
                times: (10, Some(20)),
                words: vec![0, 1, datatype, u64::MAX, 5, comm],
                values: Vec::new(),
            }]
        };
        let objects = r#"{"ompi_mpi_int":140000,"ompi_mpi_comm_self":150000}"#;
        for (family, datatype, comm, dest) in [
            ("mpich", 0x4c00_0405, 0x4400_0001, "MPI_PROC_NULL"),
            ("openmpi", 140_000, 150_000, "MPI_ANY_SOURCE"),
            ("abi", 0x209, 0x102, "MPI_ANY_SOURCE"),
        ] {
            let bytes = file(family, "all", objects, &send(datatype, comm));
            let file = file::TraceFile::parse(&bytes).unwrap();
            let line = Recording::of(&file).calls().next().unwrap().to_string();
            let (call, _) = line.split_once(" = ").unwrap();
            assert_eq!(
                call,
                format!("MPI_Send(buf=NULL, count=1, MPI_INT, dest={dest}, tag=5, MPI_COMM_SELF)"),
                "{family}"
            );
        }
    }
}
