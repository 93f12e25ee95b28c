//! What `qmpi compare` found, as one HTML file that needs nothing else.

use minijinja::{Error, context};
use serde::Serialize;

use crate::compare::answer::Comparison;
use crate::compare::cost::Cost;
use crate::compare::text::{FindingGroup, KINDS, capital, groups, place, verdict};
use crate::template;

/// Findings of a kind.
#[derive(Serialize)]
struct FindingSection {
    title: String,
    items: Vec<FindingRow>,
}

#[derive(Serialize)]
struct FindingRow {
    place: String,
    message: String,
    diff: Vec<String>,
}

/// A row of the table of costs.
#[derive(Serialize)]
struct CostRow {
    function: String,
    numbers: [String; 4],
}

/// The page.
///
/// # Errors
/// When the template does not fit what it is given: a defect of this crate.
pub fn html(answer: &Comparison) -> Result<String, Error> {
    let line = verdict(answer);
    let sections = KINDS.map(|kind| FindingSection {
        title: capital(kind.title()),
        items: groups(answer, kind).iter().map(FindingRow::of).collect(),
    });
    let sections: Vec<FindingSection> = sections.into_iter().filter(|section| !section.items.is_empty()).collect();
    let [old, new] = [0, 1].map(|side: usize| answer.sides.get(side).map_or("", |about| about.name));
    let page = template::render(
        include_str!("page.html"),
        context! {
            style => include_str!("style.css"),
            verdict => answer.verdict,
            what => line.split_once(": ").map_or("", |(_, what)| what),
            sections,
            old,
            new,
            costs => answer.costs.iter().map(CostRow::of).collect::<Vec<_>>(),
            varying => &answer.varying,
            notes => &answer.notes,
        },
    )?;
    Ok(page + "\n")
}

impl FindingRow {
    fn of(group: &FindingGroup<'_>) -> Self {
        let diff = group.finding.diff.iter().flat_map(|diff| diff.lines()).map(str::to_owned).collect();
        Self { place: place(group), message: group.finding.message.clone(), diff }
    }
}

impl CostRow {
    fn of(cost: &Cost) -> Self {
        let (from, to) = cost.range;
        let numbers = [
            format!("{:.0}", cost.old_ns),
            format!("{:.0}", cost.new_ns),
            format!("{:.2}", cost.ratio),
            format!("{from:.2} to {to:.2}"),
        ];
        Self { function: cost.function.clone(), numbers }
    }
}
