//! What `qmpi compare` found, as one HTML file that needs nothing else.

use minijinja::{Error, context};

use crate::compare::answer::Comparison;
use crate::compare::text::{sections, verdict};
use crate::template;

/// The page.
///
/// # Errors
/// When the template does not fit what it is given: a defect of this crate.
pub fn html(answer: &Comparison) -> Result<String, Error> {
    let line = verdict(answer);
    let page = template::render(
        include_str!("page.html"),
        context! {
            style => include_str!("style.css"),
            verdict => answer.verdict,
            what => line.split_once(": ").map_or("", |(_, what)| what),
            sections => sections(answer),
            sides => answer.sides,
            costs => answer.costs,
            varying => answer.varying,
            notes => answer.notes,
        },
    )?;
    Ok(page + "\n")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::compare::answer::AboutSide;
    use crate::compare::cost::FunctionCost;

    #[test]
    fn costs_are_short_numbers() {
        let side = |name| AboutSide { name, what: name.to_owned(), runs: 3, seconds: Vec::new() };
        let cost = FunctionCost {
            function: "MPI_Send".to_owned(),
            old_ns: 1000.4,
            new_ns: 2500.6,
            ratio: 2.4996,
            range: (1.0, 12.345),
            runs: (3, 3),
            slow_ranks: Vec::new(),
        };
        let answer = Comparison {
            verdict: "same",
            sides: ["old", "new"].map(side),
            findings: Vec::new(),
            varying: std::collections::BTreeMap::new(),
            costs: vec![cost],
            slower: 1.5,
            notes: Vec::new(),
            directory: PathBuf::new(),
        };
        let number = |text| format!("<td class=\"number\">{text}</td>");
        let cells: String = ["1000", "2501", "2.50", "1.00 to 12.35"].map(number).concat();
        let row = format!("<tr><th scope=\"row\">MPI_Send</th>{cells}</tr>\n");
        let page = html(&answer).unwrap();
        assert!(page.starts_with("<!DOCTYPE html>\n<html") && page.contains(&row), "{page}");
    }
}
