//! What the links of a rank measured, as columns of numbers: names and digits that nobody reads would be most of a record.
//!
//! ```text
//! a row for each function, layer and caller:
//!     function (the difference to the row before), layer, caller, calls, bytes sent, bytes received
//! a row for each function and layer, in the same order:
//!     own, inclusive (0: as own), longest (0: as inclusive), the first bits of the histogram
//! counts of histograms, one after the other, with -1 behind those of a row
//! ```
//!
//! Functions are numbers of `functions.tsv`, which stay what they are. Counts and bytes are exact; times are rounded to what a
//! reader of a report can see: zeros take no room in a file that is compressed.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::thread::Measured;

/// The value of `links`: what was measured, by the function and the layer.
pub(crate) fn json(links: &BTreeMap<(usize, usize), Measured>) -> Value {
    let [mut functions, mut layers, mut callers] = [const { Vec::new() }; 3];
    let [mut calls, mut sent, mut received] = [const { Vec::new() }; 3];
    let [mut own, mut inclusive, mut longest, mut histogram] = [const { Vec::new() }; 4];
    let (mut first, mut before) = (Vec::new(), 0);
    for ((function, layer), measured) in links {
        for (caller, [count, bytes @ ..]) in measured.callers.iter().enumerate().filter(|(_, [count, ..])| *count > 0) {
            functions.push(function - std::mem::replace(&mut before, *function));
            layers.push(*layer);
            callers.push(caller);
            calls.push(*count);
            sent.push(bytes[0]);
            received.push(bytes[1]);
        }
        // Differences of unsigned words: a negative one is a time that was left early.
        let times = measured.times.map(u64::cast_signed);
        own.push(rounded(times[1], 5));
        inclusive.push(if times[1] == times[0] { 0 } else { rounded(times[0], 4) });
        longest.push(if times[2] == times[0] { 0 } else { rounded(times[2], 4) });
        let bits = measured.histogram.iter().position(|count| *count > 0).unwrap_or(0);
        let end = measured.histogram.iter().rposition(|count| *count > 0).map_or(bits, |last| last + 1);
        first.push(bits);
        histogram.extend(measured.histogram[bits..end].iter().map(|count| count.cast_signed()));
        histogram.push(-1);
    }
    json!([functions, layers, callers, calls, sent, received, own, inclusive, longest, first, histogram])
}

/// A number of which only so many digits count.
fn rounded(number: i64, digits: u32) -> i64 {
    let magnitude = number.unsigned_abs();
    let unit = 10_i64.pow(magnitude.checked_ilog10().unwrap_or(0).saturating_sub(digits - 1));
    // Half a unit more or less, where that is no overflow.
    number.saturating_add(number.signum() * (unit / 2)) / unit * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let of = |number| rounded(number, 5);
        assert_eq!([0, 7, 99_999, 123_449, 123_450, 999_996].map(of), [0, 7, 99_999, 123_450, 123_450, 1_000_000]);
        assert_eq!([-123_456_789, i64::MAX].map(of), [-123_460_000, 9_223_300_000_000_000_000]);
    }

    #[test]
    fn links_are_columns() {
        let measured = |calls: [u64; 3], inclusive, own: i64, longest| {
            let mut histogram = [0; 64];
            (histogram[9], histogram[11]) = (3, 1);
            let callers = vec![[calls[0], 0, 0], [calls[1], 40, 0], [calls[2], 1, 2]];
            Measured { times: [inclusive, own.cast_unsigned(), longest], histogram, callers }
        };
        let links = BTreeMap::from([
            ((10, 2), measured([0, 4, 0], 1_234_567, -5, 99)),
            ((10, 1), measured([0, 1, 3], 500, 500, 500)),
            ((7, 1), measured([1, 0, 0], 9, 9, 9)),
        ]);
        assert_eq!(
            json(&links).to_string(),
            "[[7,3,0,0],[1,1,1,2],[0,1,2,1],[1,1,3,4],[0,40,1,40],[0,0,2,0],[9,500,-5],[0,0,1235000],[0,0,99],[9,9,9],\
             [3,0,1,-1,3,0,1,-1,3,0,1,-1]]"
        );
    }
}
