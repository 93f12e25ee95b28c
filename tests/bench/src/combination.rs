//! A difference of stacks, or another sum: taken within each round, so that what slows a whole round down cancels out.

/// Stacks by their names, and how often each counts.
#[derive(Clone, Debug)]
pub(crate) struct Combination(pub(crate) Vec<(&'static str, f64)>);

impl Combination {
    /// What `more` costs above `less`, of `steps` steps between them.
    pub(crate) fn difference(more: &'static str, less: &'static str, steps: u32) -> Self {
        let share = 1.0 / f64::from(steps);
        Self(vec![(more, share), (less, -share)])
    }

    /// The sum, if `value` knows all terms.
    pub(crate) fn sum(&self, value: impl Fn(&str) -> Option<f64>) -> Option<f64> {
        self.0.iter().map(|(stack, weight)| value(stack).map(|value| value * weight)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_that_is_missing_leaves_no_sum() {
        let difference = Combination::difference("5", "2", 3);
        let value = |stack: &str| if stack == "5" { Some(7.0) } else { None };
        assert_eq!(difference.sum(value), None);
        let value = |stack: &str| Some(if stack == "5" { 7.0 } else { 4.0 });
        assert!((difference.sum(value).expect("both are known") - 1.0).abs() < 1e-12);
    }
}
