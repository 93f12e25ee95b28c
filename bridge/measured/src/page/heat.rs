//! Own time by layer, function and rank, packed for the script: three characters for each rank, whatever the number of ranks.

use minijinja::{Value, context};

use crate::job::{MeasuredJob, TimeSpread};

/// Functions that are shown; the layers' sums always are.
const FUNCTIONS: usize = 60;
/// Columns at most: more ranks are shown in groups of neighbours.
const COLUMNS: u32 = 2048;
/// A digit of a packed number.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// The packed number of a rank that has no file.
const MISSING: u32 = (1 << 18) - 1;
/// From a hundredth of a nanosecond to eleven days in steps of 0.015 %.
const LEAST: f64 = 0.01;
const DECADES: f64 = 17.0;

/// The table of ranks. Each column has the largest time of `group` neighbouring ranks; `left_out` functions take less time than those that are
/// shown. A row without a function is the sum of a layer.
pub(super) fn of(job: &MeasuredJob) -> Value {
    let group = job.size.div_ceil(COLUMNS).max(1);
    let row = |layer: &str, function: &str, own: &TimeSpread| {
        let (median, most) = (own.median_ns(), own.max_ns);
        context! {
            layer,
            function,
            packed => packed(own, job.size, group),
            least => own.min_ns,
            median,
            most,
            rank => own.max_rank,
        }
    };
    let layers = job.layers.iter().skip(1).map(|layer| row(&layer.label, "", &layer.own));
    let functions = job.functions_by_time();
    let shown = functions.iter().take(FUNCTIONS).map(|(layer, name, function)| row(&layer.label, name, &function.own));
    context! {
        size => job.size,
        group,
        left_out => functions.len().saturating_sub(FUNCTIONS),
        rows => layers.chain(shown).collect::<Vec<_>>(),
    }
}

/// The largest time of each group of ranks.
fn packed(own: &TimeSpread, size: u32, group: u32) -> String {
    let mut text = String::with_capacity(3 * size.div_ceil(group) as usize);
    for first in (0..size).step_by(group as usize) {
        let times = own.by_rank.range(first..first.saturating_add(group)).map(|(_, time)| *time);
        let code = times.reduce(f64::max).map_or(MISSING, code);
        for shift in [12, 6, 0] {
            text.push(char::from(DIGITS[(code >> shift) as usize & 63]));
        }
    }
    text
}

/// 0 is no time at all.
fn code(ns: f64) -> u32 {
    if ns <= 0.0 {
        return 0;
    }
    let place = ((ns / LEAST).log10() / DECADES).clamp(0.0, 1.0);
    1 + (place * f64::from(MISSING - 2)).round() as u32
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// What the script does.
    fn unpacked(text: &str) -> Vec<Option<f64>> {
        let digit = |byte: &u8| DIGITS.iter().position(|digit| digit == byte).unwrap() as u32;
        let codes = text.as_bytes().chunks(3).map(|word| word.iter().fold(0, |code, byte| code << 6 | digit(byte)));
        let time = |code: u32| match code {
            MISSING => None,
            0 => Some(0.0),
            code => Some(LEAST * 10_f64.powf(DECADES * f64::from(code - 1) / f64::from(MISSING - 2))),
        };
        codes.map(time).collect()
    }

    #[test]
    fn times_come_back_as_precise_as_they_are_shown() {
        let times = [0.0, 0.3, 41.0, 79_650.0, 1.24e9, 9e14];
        let own = TimeSpread { by_rank: BTreeMap::from_iter((0..6).zip(times)), ..TimeSpread::default() };
        let back = unpacked(&packed(&own, 8, 1));
        assert_eq!(back.len(), 8);
        assert_eq!((back[6], back[7], back[0]), (None, None, Some(0.0)));
        for (time, back) in times.iter().zip(back).skip(1) {
            assert!((back.unwrap() / time - 1.0).abs() < 1e-4, "{time} {back:?}");
        }
    }

    #[test]
    fn groups_have_their_largest() {
        let own =
            TimeSpread { by_rank: (0..10).map(|rank| (rank, f64::from(rank))).collect(), ..TimeSpread::default() };
        let back: Vec<f64> = unpacked(&packed(&own, 10, 4)).into_iter().map(|time| time.unwrap().round()).collect();
        assert_eq!(back, [3.0, 7.0, 9.0]);
    }
}
