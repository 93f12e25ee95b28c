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
    let mpi = recording.layers().len().saturating_sub(1);
    let mut open: BTreeMap<u32, OpenCall> = BTreeMap::new();
    let mut times: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
    let mut close = |open: OpenCall| times.entry(open.function).or_default().extend(open.own.map(|own| own.max(0.0)));
    for call in recording.outlines() {
        let is_outer = call.caller == 0 && call.depth == 0;
        if call.depth == 0
            && let Some(before) = open.remove(&call.thread)
        {
            close(before);
        }
        if is_outer && call.layer != mpi && is_of_program(&call) {
            open.insert(
                call.thread,
                OpenCall { function: call.function.name(), own: call.duration_ns, in_mpi: usize::MAX },
            );
        } else if let Some(outer) = open.get_mut(&call.thread) {
            outer.take(&call, mpi);
        }
    }
    open.into_values().for_each(close);
    let of = |(function, times): (&str, Vec<f64>)| Some((function.to_owned(), Quartiles::of(times)?));
    times.into_iter().filter_map(of).collect()
}

/// A call of the program that is under way.
struct OpenCall {
    function: &'static str,
    /// Its time without that of the calls in it, if it has returned.
    own: Option<f64>,
    /// Calls that are deeper are inside of one that came to the MPI library, whose time is gone already.
    in_mpi: usize,
}

impl OpenCall {
    fn take(&mut self, call: &RecordedCall, mpi: usize) {
        if call.depth > self.in_mpi {
            return;
        }
        self.in_mpi = if call.layer == mpi { call.depth } else { usize::MAX };
        if call.layer == mpi {
            self.own = self.own.zip(call.duration_ns).map(|(own, nested)| own - nested);
        }
    }
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
