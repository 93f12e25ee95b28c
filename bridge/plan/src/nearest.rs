//! "Did you mean": the candidate nearest to a misspelt word.

/// The candidate with the smallest edit distance to `wanted`, if it is near enough to be what was meant.
pub fn nearest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A third of the word may differ: `pth` finds `path`, `x` finds nothing but `X`.
    let length = wanted.chars().count();
    let limit = if length < 2 { 0 } else { (length.max(3) / 3).min(4) };
    candidates
        .into_iter()
        .map(|candidate| (distance(wanted, candidate), candidate))
        .filter(|&(distance, _)| distance <= limit)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// The nearest candidate as a hint for the user.
pub(crate) fn did_you_mean<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(wanted, candidates).map(|nearest| format!("did you mean `{nearest}`?"))
}

/// How many letters differ; two neighbours in the wrong order are one mistake, and case does not count.
fn distance(a: &str, b: &str) -> usize {
    strsim::osa_distance(&a.to_lowercase(), &b.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_and_far() {
        assert_eq!(nearest("fucntions", ["env", "functions", "ranks"]), Some("functions"));
        assert_eq!(nearest("rnu", ["env", "run"]), Some("run"));
        assert_eq!(nearest("pth", ["env", "path"]), Some("path"));
        assert_eq!(nearest("MPI_send", ["MPI_Recv", "MPI_Send"]), Some("MPI_Send"));
        assert_eq!(nearest("c", ["a"]), None);
        assert_eq!(nearest("colour", ["env", "path"]), None);
        assert_eq!(nearest("", ["env"]), None);
    }
}
