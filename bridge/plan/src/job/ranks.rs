//! Sets of ranks as users write them: `0-3,8`.

use std::fmt;
use std::str::FromStr;

use crate::PlanError;

/// Some ranks of `MPI_COMM_WORLD`; never empty. Kept as sorted, disjoint, inclusive ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankSet(Vec<(u32, u32)>);

impl RankSet {
    /// Whether `rank` is in the set.
    pub fn contains(&self, rank: u32) -> bool {
        self.0.iter().any(|&(first, last)| (first..=last).contains(&rank))
    }

    /// The first rank of each range, ascending.
    pub fn starts(&self) -> impl Iterator<Item = u32> {
        self.0.iter().map(|&(first, _)| first)
    }
}

impl FromStr for RankSet {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        if text.trim().is_empty() {
            return Err(wrong("no ranks are given"));
        }
        let mut ranges = text.split(',').map(|part| range(part.trim())).collect::<Result<Vec<_>, _>>()?;
        ranges.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (first, last) in ranges {
            match merged.last_mut() {
                Some(previous) if first <= previous.1.saturating_add(1) => previous.1 = previous.1.max(last),
                _ => merged.push((first, last)),
            }
        }
        Ok(Self(merged))
    }
}

impl fmt::Display for RankSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, &(first, last)) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            if first == last {
                write!(f, "{first}")?;
            } else {
                write!(f, "{first}-{last}")?;
            }
        }
        Ok(())
    }
}

fn range(part: &str) -> Result<(u32, u32), PlanError> {
    let number = |text: &str| {
        let text = text.trim();
        // `u32::from_str` takes a leading plus sign; ranks have none.
        if text.starts_with('+') { None } else { text.parse::<u32>().ok() }
    };
    let bounds = match part.split_once('-') {
        None => number(part).map(|rank| (rank, rank)),
        Some((first, last)) => number(first).zip(number(last)),
    };
    match bounds {
        None => Err(wrong(format!("`{part}` is neither a rank nor a range of ranks"))),
        Some((first, last)) if first > last => Err(wrong(format!("range `{part}` ends before it begins"))),
        Some(bounds) => Ok(bounds),
    }
}

fn wrong(message: impl Into<String>) -> PlanError {
    PlanError::new(message, "write for example \"0-3,8\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members() {
        let set: RankSet = "0-3,8".parse().unwrap();
        let inside: Vec<u32> = (0..12).filter(|&rank| set.contains(rank)).collect();
        assert_eq!(inside, [0, 1, 2, 3, 8]);
    }

    #[test]
    fn written_in_one_way() {
        for (text, normal) in [("8, 0-3", "0-3,8"), ("0,1,2", "0-2"), ("5-9,1-6", "1-9"), ("7", "7"), ("1 - 2", "1-2")]
        {
            assert_eq!(text.parse::<RankSet>().unwrap().to_string(), normal);
        }
        assert!("4294967295,0-4294967295".parse::<RankSet>().unwrap().contains(u32::MAX));
    }

    #[test]
    fn refused() {
        assert_eq!(" ".parse::<RankSet>(), Err(wrong("no ranks are given")));
        assert_eq!("3-1".parse::<RankSet>(), Err(wrong("range `3-1` ends before it begins")));
        for text in ["a", "1-", "-1", "1,,2", "1,", "+1", "1-2-3", "4294967296"] {
            let error = text.parse::<RankSet>().unwrap_err().to_string();
            assert!(error.ends_with(" is neither a rank nor a range of ranks"), "{text}: {error}");
        }
    }
}
