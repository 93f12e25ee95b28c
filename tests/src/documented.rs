//! Tests that the documentation names: the last column of a table, if its title is `test`.
//!
//! A name is that of a check as cargo-nextest shows it, `*` in the place of the MPI for all of them, or that of a module:
//!
//! ```text
//! | `dlsym(RTLD_NEXT, ...)` | finds ... | finds ... | `tools::each::*::rtld_next::ring.c`, `tools::with::` |
//! ```

use std::collections::BTreeSet;

use crate::Mpi;

/// The pages that have such tables.
pub const PAGES: [&str; 2] = ["docs/namespaces.md", "docs/maintainers/conformance.md"];

/// Fails unless each row of such a table of the page with this `text` names tests that there are.
///
/// # Errors
/// All rows without a test, and all names that no test has.
pub fn all_exist(page: &str, text: &str, tests: &BTreeSet<String>) -> Result<(), String> {
    let rows = rows(text);
    let mut wrong = Vec::new();
    for (title, cell) in &rows {
        let mut names = cell.split('`').skip(1).step_by(2).peekable();
        if names.peek().is_none() {
            wrong.push(format!("no test is named for {title}"));
        }
        let missing = names.filter(|name| !exists(name, tests));
        wrong.extend(missing.map(|name| format!("there is no test {name}, for {title}")));
    }
    if rows.is_empty() {
        wrong.push("no table has a column `test`".to_owned());
    }
    if wrong.is_empty() { Ok(()) } else { Err(format!("{page}: {}", wrong.join("; "))) }
}

/// The first and the last cell of each row of all such tables.
fn rows(page: &str) -> Vec<(&str, &str)> {
    let mut rows = Vec::new();
    // Of the table that the line is in.
    let mut names_tests = None;
    for line in page.lines() {
        let row = line.trim_end().strip_prefix('|').and_then(|row| row.strip_suffix('|'));
        let Some((first, rest)) = row.and_then(|row| row.split_once('|')) else {
            names_tests = None;
            continue;
        };
        let last = rest.rsplit('|').next().unwrap_or_default().trim();
        match names_tests {
            None => names_tests = Some(last == "test"),
            Some(true) if !last.starts_with("--") => rows.push((first.trim(), last)),
            Some(_) => {}
        }
    }
    rows
}

fn exists(name: &str, tests: &BTreeSet<String>) -> bool {
    if name.ends_with("::") {
        return tests.iter().any(|test| test.starts_with(name));
    }
    match name.split_once("::*::") {
        Some((module, check)) => {
            Mpi::ALL.iter().all(|mpi| tests.contains(&format!("{module}::{}::{check}", mpi.name())))
        }
        None => tests.contains(name),
    }
}
