//! What a figure should be.

use crate::cell::{Cell, digits};

/// A limit beside what was measured.
pub(crate) struct Goal {
    text: String,
    limit: String,
    measured: Cell,
    met: bool,
}

impl Goal {
    /// Not above `limit`, to the two digits that are shown. Nothing measured is no goal.
    pub(crate) fn at_most(text: impl Into<String>, limit: f64, unit: &str, measured: Option<f64>) -> Option<Self> {
        let value = measured?;
        Some(Self {
            text: text.into(),
            limit: format!("≤ {limit:.2} {unit}"),
            measured: Cell::number(value, format!("{} {unit}", digits(value))),
            met: value <= limit + 0.005,
        })
    }

    /// Not below `limit`.
    pub(crate) fn at_least(
        text: impl Into<String>,
        limit: f64,
        measured: Option<f64>,
        precision: usize,
    ) -> Option<Self> {
        let value = measured?;
        Some(Self {
            text: text.into(),
            limit: if limit.fract() == 0.0 { format!("{limit}") } else { format!("≥ {limit}") },
            measured: Cell::number(value, format!("{value:.precision$}")),
            met: value >= limit,
        })
    }

    /// Its row in the table of goals.
    pub(crate) fn row(self) -> (String, Vec<Cell>) {
        let verdict = Cell::words(if self.met { "met" } else { "**not met**" });
        (self.text, vec![Cell::words(self.limit), self.measured, verdict])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(goal: Option<Goal>) -> String {
        goal.expect("measured").row().1.pop().expect("a verdict").text
    }

    #[test]
    fn limits_are_those_of_the_digits_shown() {
        assert_eq!(verdict(Goal::at_most("", 0.6, "ns", Some(0.604))), "met");
        assert_eq!(verdict(Goal::at_most("", 0.6, "ns", Some(0.606))), "**not met**");
        assert_eq!(verdict(Goal::at_least("", 0.999, Some(0.99899), 5)), "**not met**");
        assert_eq!(verdict(Goal::at_least("", 15.0, Some(15.0), 0)), "met");
        assert!(Goal::at_most("", 1.0, "ns", None).is_none());
    }
}
