//! What `qmpi compare` found, as one HTML file that needs nothing else.

use minijinja::{Error, Value, context};

use crate::compare::answer::Comparison;
use crate::compare::cost::FunctionCost;
use crate::compare::text::{FindingGroup, KINDS, groups, place, verdict};
use crate::notes::capital;
use crate::template;

/// The page.
///
/// # Errors
/// When the template does not fit what it is given: a defect of this crate.
pub fn html(answer: &Comparison) -> Result<String, Error> {
    let line = verdict(answer);
    let kinds = KINDS.into_iter().map(|kind| (kind, groups(answer, kind))).filter(|(_, groups)| !groups.is_empty());
    let sections = kinds.map(|(kind, groups)| {
        context! { title => capital(kind.title()), items => groups.iter().map(finding).collect::<Vec<_>>() }
    });
    let [old, new] = [0, 1].map(|side: usize| answer.sides.get(side).map_or("", |about| about.name));
    let page = template::render(
        include_str!("page.html"),
        context! {
            style => include_str!("style.css"),
            verdict => answer.verdict,
            what => line.split_once(": ").map_or("", |(_, what)| what),
            sections => sections.collect::<Vec<_>>(),
            old,
            new,
            costs => answer.costs.iter().map(row).collect::<Vec<_>>(),
            varying => &answer.varying,
            notes => &answer.notes,
        },
    )?;
    Ok(page + "\n")
}

fn finding(group: &FindingGroup<'_>) -> Value {
    let diff: Vec<&str> = group.finding.diff.iter().flat_map(|diff| diff.lines()).collect();
    context! { place => place(group), message => group.finding.message, diff }
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
