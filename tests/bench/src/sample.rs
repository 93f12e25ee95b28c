//! Values of one quantity, one of each round.

/// Sorted values.
pub(crate) struct Sample(Vec<f64>);

/// The median, and the middle half of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Sample {
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Between two values: linearly.
    pub(crate) fn quantile(&self, q: f64) -> Option<f64> {
        let at = (self.0.len().checked_sub(1)?) as f64 * q;
        let below = self.0[at as usize];
        let above = self.0.get(at as usize + 1).unwrap_or(&below);
        Some(below + at.fract() * (above - below))
    }

    pub(crate) fn median(&self) -> Option<f64> {
        self.quantile(0.5)
    }

    pub(crate) fn spread(&self) -> Option<Spread> {
        Some(Spread { median: self.median()?, low: self.quantile(0.25)?, high: self.quantile(0.75)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_values() {
        let sample = Sample::of([4.0, 1.0, 3.0, 2.0]);
        assert_eq!(sample.spread(), Some(Spread { median: 2.5, low: 1.75, high: 3.25 }));
        assert_eq!((sample.quantile(0.0), sample.quantile(1.0)), (Some(1.0), Some(4.0)));
    }

    #[test]
    fn one_value_is_all_quantiles_and_none_has_none() {
        assert_eq!(Sample::of([7.0]).spread(), Some(Spread { median: 7.0, low: 7.0, high: 7.0 }));
        assert_eq!(Sample::of([]).median(), None);
    }
}
