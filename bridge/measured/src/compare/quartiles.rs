//! What the calls of a function cost in the tools, on one rank in one run.

use std::collections::BTreeMap;

use crate::job::median;
use crate::trace::{RecordedCall, Recording};

/// A function that a rank calls less often in a run says nothing: a page fault is as long as all of its calls.
const LEAST_CALLS: usize = 10;

/// What the calls of a function cost on one rank in one run, in the tools and without what they call: in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quartiles {
    /// A quarter of the calls cost less.
    pub lower: f64,
    /// Half of them do.
    pub median: f64,
    /// A quarter of them cost more.
    pub upper: f64,
}

/// What calls of the program cost in the tools, by function. `is_of_program`: those that count.
pub(super) fn of(
    recording: &Recording<'_>,
    is_of_program: impl Fn(&RecordedCall) -> bool,
) -> BTreeMap<String, Quartiles> {
    let mpi = recording.mpi();
    // Of each thread: the last call of the program to a tool, and from which depth on calls are inside of one that came to the MPI library, whose
    // time is gone already.
    let mut open: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
    // The time of each without that of the calls in it, if all have returned.
    let mut own: Vec<(&'static str, Option<f64>)> = Vec::new();
    for call in recording.outlines() {
        if call.depth == 0 {
            open.remove(&call.thread);
            if call.caller == 0 && call.layer != mpi && is_of_program(&call) {
                open.insert(call.thread, (own.len(), usize::MAX));
                own.push((call.function.name(), call.duration_ns));
            }
        } else if let Some((place, in_mpi)) = open.get_mut(&call.thread).filter(|(_, in_mpi)| call.depth <= *in_mpi) {
            *in_mpi = usize::MAX;
            if call.layer == mpi {
                *in_mpi = call.depth;
                own[*place].1 = own[*place].1.zip(call.duration_ns).map(|(own, nested)| own - nested);
            }
        }
    }
    let mut times: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
    for (function, own) in own {
        times.entry(function).or_default().extend(own.map(|own| own.max(0.0)));
    }
    let of = |(function, times): (&str, Vec<f64>)| Some((function.to_owned(), Quartiles::of(times)?));
    times.into_iter().filter_map(of).collect()
}

impl Quartiles {
    /// `None` of too few calls.
    pub(super) fn of(mut times: Vec<f64>) -> Option<Self> {
        if times.len() < LEAST_CALLS {
            return None;
        }
        times.sort_by(f64::total_cmp);
        let (quarter, last) = (times.len() / 4, times.len() - 1);
        Some(Self { lower: times[quarter], upper: times[last - quarter], median: median(times) })
    }
}
