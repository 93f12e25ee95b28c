//! What `qmpi compare` found, as one HTML file that needs nothing else.

use minijinja::{Error, Value, context};

use crate::compare::answer::Comparison;
use crate::compare::cost::FunctionCost;
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
            costs => answer.costs.iter().map(row).collect::<Vec<_>>(),
            varying => answer.varying,
            notes => answer.notes,
        },
    )?;
    Ok(page + "\n")
}

/// A row of the table of costs.
fn row(cost: &FunctionCost) -> Value {
    let (from, to) = cost.range;
    let numbers = [
        format!("{:.0}", cost.old_ns),
        format!("{:.0}", cost.new_ns),
        format!("{:.2}", cost.ratio),
        format!("{from:.2} to {to:.2}"),
    ];
    context! { function => cost.function, numbers }
}
