//! A figure of a table.

use crate::sample::Spread;

/// As it is shown, and as a number.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) value: Option<f64>,
    /// The middle half of the rounds.
    pub(crate) range: Option<(f64, f64)>,
}

/// Two digits, and no negative zero.
pub(crate) fn digits(value: f64) -> String {
    if value < 0.0 && value > -0.005 { "0.00".to_owned() } else { format!("{value:.2}") }
}

impl Cell {
    /// No figure, but words.
    pub(crate) fn words(text: impl Into<String>) -> Self {
        Self { text: text.into(), value: None, range: None }
    }

    pub(crate) fn number(value: f64, text: String) -> Self {
        Self { text, value: Some(value), range: None }
    }

    /// A median alone.
    pub(crate) fn median(spread: Spread) -> Self {
        Self { text: digits(spread.median), value: Some(spread.median), range: Some((spread.low, spread.high)) }
    }

    /// A median with the middle half of the rounds.
    pub(crate) fn spread(spread: Spread) -> Self {
        let text = format!("{} ({}…{})", digits(spread.median), digits(spread.low), digits(spread.high));
        Self { text, ..Self::median(spread) }
    }

    /// The same of a difference: with its sign.
    pub(crate) fn difference(spread: Spread) -> Self {
        let sign = if spread.median >= -0.005 { "+" } else { "" };
        Self { text: format!("{sign}{}", Self::spread(spread).text), ..Self::median(spread) }
    }

    /// What is not there is empty.
    pub(crate) fn or_empty(value: Option<f64>, text: impl Fn(f64) -> String) -> Self {
        value.map_or_else(|| Self::words(""), |value| Self::number(value, text(value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_has_a_sign_unless_it_is_nothing() {
        let text = |median| Cell::difference(Spread { median, low: -0.001, high: 1.234 }).text;
        assert_eq!(text(0.5), "+0.50 (0.00…1.23)");
        assert_eq!(text(-0.5), "-0.50 (0.00…1.23)");
        assert_eq!(text(-0.004), "+0.00 (0.00…1.23)");
    }
}
