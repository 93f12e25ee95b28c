//! Text files that a test compares with, rewritten with `BLESS=1`.

use std::path::Path;

/// Whether golden files are to be rewritten.
fn blessing() -> bool {
    std::env::var_os("BLESS").is_some_and(|value| value == "1")
}

/// Compares `actual` with the file, or rewrites the file.
pub(crate) fn check(path: &Path, actual: &str) {
    if blessing() {
        std::fs::write(path, actual).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        return;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let differing = expected.lines().zip(actual.lines()).position(|(left, right)| left != right);
    let line = differing.unwrap_or_else(|| expected.lines().count().min(actual.lines().count()));
    assert!(
        expected == actual,
        "{} is not what is generated now, from line {}:\n  file: {}\n  now:  {}\nhint: `BLESS=1 cargo nextest run -p shim-gen` rewrites it",
        path.display(),
        line + 1,
        expected.lines().nth(line).unwrap_or("(end)"),
        actual.lines().nth(line).unwrap_or("(end)"),
    );
}
