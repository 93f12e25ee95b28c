//! A straight line through points.

/// That of least squares.
#[derive(Debug, PartialEq)]
pub(crate) struct Fit {
    pub(crate) slope: f64,
    /// How much of the values the line explains: 1 if all points lie on it.
    pub(crate) r2: f64,
}

impl Fit {
    pub(crate) fn through(points: &[(f64, f64)]) -> Self {
        let count = points.len() as f64;
        let sum = |term: fn(f64, f64) -> f64| points.iter().map(|&(x, y)| term(x, y)).sum::<f64>();
        let (x, y) = (sum(|x, _| x), sum(|_, y| y));
        let xy = count * sum(|x, y| x * y) - x * y;
        let xx = count * sum(|x, _| x * x) - x * x;
        let yy = count * sum(|_, y| y * y) - y * y;
        Self { slope: xy / xx, r2: xy * xy / (xx * yy) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_on_a_line() {
        assert_eq!(Fit::through(&[(1.0, 5.0), (2.0, 7.0), (10.0, 23.0)]), Fit { slope: 2.0, r2: 1.0 });
    }

    #[test]
    fn points_beside_it() {
        let fit = Fit::through(&[(0.0, 0.0), (1.0, 1.0), (2.0, 0.0), (3.0, 1.0)]);
        assert!((fit.slope - 0.2).abs() < 1e-12 && (fit.r2 - 0.2).abs() < 1e-12, "{fit:?}");
    }
}
