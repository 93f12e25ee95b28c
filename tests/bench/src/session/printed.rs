//! What the programs print.

use crate::cost::Cost;
use crate::failure::Failure;
use crate::function::Function;

/// Words of a line.
struct Words<'a>(std::str::SplitWhitespace<'a>);

impl Words<'_> {
    fn next<T: std::str::FromStr>(&mut self) -> Option<T> {
        self.0.next()?.parse().ok()
    }
}

/// `FUNCTION ARGUMENTS NS` on each line (calls.c).
pub(super) fn calls(text: &str) -> Result<Vec<(Function, f64)>, Failure> {
    lines(text, |words| Some((Function { name: words.next()?, arguments: words.next()? }, words.next()?)))
}

/// `FUNCTION NS` on each line (qmpi_interface.c).
pub(super) fn interface(text: &str) -> Result<Vec<(String, f64)>, Failure> {
    lines(text, |words| Some((words.next()?, words.next()?)))
}

/// `CPU-MS PRIVATE-KB SHARED-KB PSS-KB` (setup.c).
pub(super) fn cost(text: &str) -> Result<Cost, Failure> {
    let costs = lines(text, |words| {
        Some(Cost { cpu_ms: words.next()?, private_kb: words.next()?, shared_kb: words.next()?, pss_kb: words.next()? })
    })?;
    Ok(costs[0])
}

/// The times of the lines `qmpi: ... MS ms, ...`: one for each instance, as `QMPI_LOG=info` prints it.
pub(super) fn instances(log: &str) -> Vec<f64> {
    let time = |line: &str| {
        let (before, _) = line.strip_prefix("qmpi: ")?.rsplit_once(" ms, ")?;
        before.rsplit(' ').next()?.parse().ok()
    };
    log.lines().filter_map(time).collect()
}

/// One line has to come at least, and all have to be measurements.
fn lines<T>(text: &str, parse: impl Fn(&mut Words<'_>) -> Option<T>) -> Result<Vec<T>, Failure> {
    let parsed: Option<Vec<T>> = text
        .lines()
        .map(|line| {
            let mut words = Words(line.split_whitespace());
            parse(&mut words).filter(|_| words.0.next().is_none())
        })
        .collect();
    match parsed {
        Some(parsed) if !parsed.is_empty() => Ok(parsed),
        Some(_) => Err(Failure::new("measured nothing")),
        None => Err(Failure::new(format!("no measurements:\n{text}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_measurement_is_found() {
        assert_eq!(calls("Recv 7 2.5\n").expect("one")[0].1, 2.5);
        assert_eq!(cost("1.5 10 20 30\n").expect("one").dirty_kb(), 30.0);
        for text in ["", "Recv 7\n", "Recv 7 2.5\nabort\n", "Recv 7 2.5 9\n"] {
            assert!(calls(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_of_instances_are_those_of_the_log() {
        let log = "qmpi: 0: t1=/x 5 ms, y.so: loaded in 1.2 ms, 3 pages\nother 9 ms, \nqmpi: stack of 1\n";
        assert_eq!(instances(log), [1.2]);
    }
}
