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
//! reader of a report can see.

use std::collections::BTreeMap;
use std::fmt::Display;

use crate::thread::Measured;

/// Digits of times: own, from call to return, the longest.
const DIGITS: [u32; 3] = [5, 4, 4];

/// The value of `links`: of each function at a layer the layer, the function, and what was measured.
pub(crate) fn json(measured: impl IntoIterator<Item = (usize, usize, Measured)>) -> String {
    let mut links: BTreeMap<(usize, usize), Measured> = BTreeMap::new();
    for (layer, function, measured) in measured {
        if measured.callers.iter().any(|calls| *calls > 0) {
            links.entry((function, layer)).and_modify(|known| known.add(&measured)).or_insert(measured);
        }
    }
    let [mut functions, mut layers, mut callers, mut calls, mut sent, mut received] = [const { Vec::new() }; 6];
    let [mut own, mut inclusive, mut longest, mut first, mut histogram] = [const { Vec::new() }; 5];
    let mut before = 0;
    for ((function, layer), measured) in &links {
        for (caller, count) in measured.callers.iter().enumerate().filter(|(_, count)| **count > 0) {
            functions.push((function - std::mem::replace(&mut before, *function)).to_string());
            layers.push(layer.to_string());
            callers.push(caller.to_string());
            calls.push(count.to_string());
            let [out, into] = measured.bytes.get(caller).copied().unwrap_or_default();
            sent.push(out.to_string());
            received.push(into.to_string());
        }
        // Differences of unsigned words: a negative one is a time that was left early.
        let of_layer = measured.own.cast_signed();
        own.push(rounded(of_layer, DIGITS[0]));
        let is_same = i128::from(of_layer) == i128::from(measured.inclusive);
        inclusive.push(if is_same { "0".to_owned() } else { rounded(measured.inclusive.cast_signed(), DIGITS[1]) });
        let is_same = measured.longest == measured.inclusive;
        longest.push(if is_same { "0".to_owned() } else { rounded(measured.longest.cast_signed(), DIGITS[2]) });
        let bits = measured.histogram.iter().position(|count| *count > 0).unwrap_or(0);
        let end = measured.histogram.iter().rposition(|count| *count > 0).map_or(bits, |last| last + 1);
        first.push(bits.to_string());
        histogram.extend(measured.histogram.get(bits..end).unwrap_or_default().iter().map(u64::to_string));
        histogram.push("-1".to_owned());
    }
    let columns = [functions, layers, callers, calls, sent, received, own, inclusive, longest, first, histogram];
    format!("[{}]", columns.map(|column| format!("[{}]", column.join(","))).join(","))
}

/// A number with so many digits and an exponent: `12346e3`.
fn rounded(number: i64, digits: u32) -> String {
    let magnitude = number.unsigned_abs();
    let exponent = magnitude.checked_ilog10().unwrap_or(0).saturating_sub(digits - 1);
    let unit = 10_u64.pow(exponent);
    let mantissa = magnitude / unit + u64::from(magnitude % unit >= unit.div_ceil(2) && unit > 1);
    let sign = if number < 0 { "-" } else { "" };
    let exponent: &dyn Display = if exponent == 0 { &"" } else { &format!("e{exponent}") };
    format!("{sign}{mantissa}{exponent}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let of = |number| rounded(number, 5);
        assert_eq!(
            [0, 7, 99_999, 123_449, 123_450, 999_996].map(of),
            ["0", "7", "99999", "12345e1", "12345e1", "100000e1"]
        );
        assert_eq!([-123_456_789, i64::MAX].map(of), ["-12346e4", "92234e14"]);
    }

    #[test]
    fn links_are_columns() {
        let measured = |callers: [u64; 3], inclusive, own: i64, longest| {
            let mut histogram = vec![0; 64];
            (histogram[9], histogram[11]) = (3, 1);
            let bytes = vec![[0, 0], [40, 0], [1, 2]];
            Measured { callers: callers.to_vec(), inclusive, own: own.cast_unsigned(), longest, histogram, bytes }
        };
        let links = vec![
            (2, 10, measured([0, 4, 0], 1_234_567, -5, 99)),
            (1, 10, measured([0, 1, 3], 500, 500, 500)),
            (1, 4, measured([0, 0, 0], 0, 0, 0)),
            (1, 7, measured([1, 0, 0], 9, 9, 9)),
        ];
        assert_eq!(
            json(links),
            "[[7,3,0,0],[1,1,1,2],[0,1,2,1],[1,1,3,4],[0,40,1,40],[0,0,2,0],[9,500,-5],[0,0,1235e3],[0,0,99],[9,9,9],\
             [3,0,1,-1,3,0,1,-1,3,0,1,-1]]"
        );
    }
}
