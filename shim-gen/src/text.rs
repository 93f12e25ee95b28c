//! Text files of one fact a line.

use std::path::Path;

use regex::Regex;

use crate::error::{Result, ShimError};

/// What a piece of text says, or what is wrong with it.
pub(crate) type Parsed<T> = std::result::Result<T, String>;

/// What a file says.
pub(crate) fn read<T>(path: &Path, parse: impl FnOnce(&str, &str) -> Result<T>) -> Result<T> {
    let text = std::fs::read_to_string(path).map_err(|source| ShimError::Read(path.to_owned(), source))?;
    parse(&text, &path.display().to_string())
}

/// Hands on each line; what is wrong with one is an error at its place in `file`.
pub(crate) fn each_line<'a>(text: &'a str, file: &str, mut take: impl FnMut(&'a str) -> Parsed<()>) -> Result<()> {
    for (index, line) in text.lines().enumerate() {
        take(line).map_err(|problem| ShimError::Line(file.to_owned(), index + 1, problem))?;
    }
    Ok(())
}

/// The columns of a line.
pub(crate) fn columns<'a, const N: usize>(columns: impl Iterator<Item = &'a str>) -> Parsed<[&'a str; N]> {
    let columns: Vec<_> = columns.collect();
    columns.try_into().map_err(|columns: Vec<_>| format!("{} columns instead of {N}", columns.len()))
}

/// The identifiers, keywords and numbers of C in a text.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// A regular expression that is part of the program.
#[expect(clippy::expect_used, reason = "every caller passes a literal, and a test compiles each")]
pub(crate) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("valid regular expression")
}
