//! An axis, linear or logarithmic.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, ValueFormatter};
use plotters::prelude::Ranged;

/// From its first tick to its last.
#[derive(Clone)]
pub(super) struct Axis {
    pub(super) title: &'static str,
    ticks: Vec<f64>,
    logarithmic: bool,
}

impl Axis {
    /// With a tick at each of these.
    pub(super) fn with_ticks(title: &'static str, ticks: Vec<f64>) -> Self {
        Self { title, ticks, logarithmic: false }
    }

    /// From 0 to at least `most`, with some five ticks at 1, 2 or 5 times a power of ten.
    pub(super) fn linear(title: &'static str, most: f64) -> Self {
        let rough = most.max(f64::MIN_POSITIVE) / 5.0;
        let power = 10f64.powf(rough.log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].iter().map(|factor| factor * power).find(|step| *step >= rough).unwrap_or(power);
        let count = (most / step).ceil() as u32;
        Self::with_ticks(title, (0..=count).map(|tick| f64::from(tick) * step).collect())
    }

    /// Logarithmic, around all values, with ticks at 1, 2 and 5 times powers of ten.
    pub(super) fn logarithmic(title: &'static str, values: impl Iterator<Item = f64> + Clone) -> Self {
        let all = (-3..7).flat_map(|power| [1.0, 2.0, 5.0].map(|factor| factor * 10f64.powi(power)));
        let (least, most) = (values.clone().fold(f64::INFINITY, f64::min), values.fold(0.0, f64::max));
        let below = all.clone().filter(|tick| *tick <= least).fold(0.001, f64::max);
        let above = all.clone().filter(|tick| *tick >= most).fold(1e6, f64::min);
        let ticks = all.filter(|tick| (below..=above).contains(tick)).collect();
        Self { title, ticks, logarithmic: true }
    }

    /// Where a value lies: equal distances are equal steps, or equal factors.
    fn place(&self, value: f64) -> f64 {
        if self.logarithmic { value.log10() } else { value }
    }

    fn ends(&self) -> (f64, f64) {
        (self.ticks.first().copied().unwrap_or(0.0), self.ticks.last().copied().unwrap_or(1.0))
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let (first, last) = (self.place(self.ends().0), self.place(self.ends().1));
        let share = (self.place(*value) - first) / (last - first);
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        // The grid between the ticks is asked for with a hint of its own: it has no lines.
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.ends().0..self.ends().1
    }
}

impl ValueFormatter<f64> for Axis {
    fn format(value: &f64) -> String {
        let rounded = format!("{value:.3}");
        let plain = rounded.trim_end_matches('0').trim_end_matches('.');
        plain.strip_suffix("000").map_or_else(|| plain.to_owned(), |thousands| format!("{thousands},000"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(Axis::linear("", 13.2).ticks, [0.0, 5.0, 10.0, 15.0]);
        assert_eq!(Axis::linear("", 0.9).ticks.len(), 6);
        assert_eq!(
            Axis::logarithmic("", [2.5, 318.0].into_iter()).ticks,
            [2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0]
        );
    }

    #[test]
    fn equal_factors_are_equally_far() {
        let axis = Axis::logarithmic("", [1.0, 100.0].into_iter());
        assert_eq!([1.0, 10.0, 100.0].map(|value| axis.map(&value, (0, 200))), [0, 100, 200]);
        assert_eq!(Axis::linear("", 10.0).map(&5.0, (200, 0)), 100);
    }

    #[test]
    fn labels_are_short() {
        assert_eq!([0.5, 10.0, 2000.0, 0.0].map(|value| Axis::format(&value)), ["0.5", "10", "2,000", "0"]);
    }
}
