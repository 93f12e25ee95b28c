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

/// The same as a hint.
pub(crate) fn did_you_mean<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(wanted, candidates).map(|nearest| format!("did you mean `{nearest}`?"))
}

/// Levenshtein's distance, in which two neighbours in the wrong order are one mistake; case ignored.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().flat_map(char::to_lowercase).collect();
    let b: Vec<char> = b.chars().flat_map(char::to_lowercase).collect();
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let replaced = rows[i][j] + usize::from(x != y);
            let mut least = replaced.min(row[j] + 1).min(rows[i][j + 1] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
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
