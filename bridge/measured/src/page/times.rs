//! How long calls took: the histogram of each function at each layer, as a row of small bars and as data for the large figure.

use std::fmt::Write;

use minijinja::{Value, context};

use crate::job::{MeasuredFunction, MeasuredJob, MeasuredLayer};

/// The smallest and the largest power of two, of nanoseconds, that bounds a call.
pub(super) type Range = (u32, u32);

/// Units of a small bar.
const BAR: u32 = 4;
const HEIGHT: f64 = 18.0;

/// Histograms for the script: how many calls took less than 2 to the power of so many nanoseconds.
pub(super) fn all(job: &MeasuredJob) -> Vec<Value> {
    let item = |(layer, function, measured): (&MeasuredLayer, &str, &MeasuredFunction)| {
        let counts = measured.histogram.iter().map(|(bound, count)| (bound.ilog2(), *count)).collect::<Vec<_>>();
        context! { layer => layer.label, function, calls => measured.calls_in, counts }
    };
    job.functions_by_time().into_iter().map(item).collect()
}

/// The bounds of all calls of the job.
pub(super) fn range(job: &MeasuredJob) -> Range {
    let bounds = || {
        let functions = job.layers.iter().flat_map(|layer| layer.functions.values());
        functions.flat_map(|function| function.histogram.keys().map(|bound| bound.max(&1).ilog2()))
    };
    (bounds().min().unwrap_or(0), bounds().max().unwrap_or(0))
}

/// The bound below which half of the calls are; the longest call, where that is less.
pub(super) fn half(function: &MeasuredFunction) -> f64 {
    let all: u64 = function.histogram.values().sum();
    let mut below = 0;
    for (bound, count) in &function.histogram {
        below += count;
        if 2 * below >= all {
            return (*bound as f64).min(function.longest_ns);
        }
    }
    0.0
}

/// The path of small bars: the highest one is the most frequent time, and the others' heights are logarithms, so that rare calls show.
pub(super) fn bars(function: &MeasuredFunction, range: Range) -> String {
    let most = function.histogram.values().max().copied().unwrap_or(1);
    let mut path = String::new();
    for (bound, count) in function.histogram.iter().filter(|(_, count)| **count > 0) {
        let height =
            3.0 + (HEIGHT - 3.0) * ((*count as f64).ln() / (most as f64 + 1e-9).ln().max(1e-9)).clamp(0.0, 1.0);
        let x = BAR * bound.max(&1).ilog2().saturating_sub(range.0);
        // Writing into a String cannot fail.
        let _ = write!(path, "M{x} {HEIGHT}v-{height:.0}h{}v{height:.0}z", BAR - 1);
    }
    path
}

/// The width of a row of bars.
pub(super) fn width(range: Range) -> u32 {
    BAR * (range.1 - range.0 + 1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn half_of_the_calls() {
        let histogram = BTreeMap::from([(512, 4), (1024, 5), (4096, 1)]);
        let mut function = MeasuredFunction { histogram, longest_ns: 3000.0, ..MeasuredFunction::default() };
        assert_eq!(half(&function), 1024.0);
        function.longest_ns = 700.0;
        assert_eq!(half(&function), 700.0);
        assert_eq!(bars(&function, (9, 12)).matches('M').count(), 3);
        function.histogram.clear();
        assert_eq!((half(&function), bars(&function, (0, 0))), (0.0, String::new()));
    }
}
