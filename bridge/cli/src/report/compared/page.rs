//! What `qmpi compare` found, as one HTML file that needs nothing else.

use minijinja::{Error, context};
use serde::Serialize;

use super::{Group, KINDS, capital, groups, place, verdict};
use crate::commands::compare::Answer;
use crate::compare::cost::Cost;
use crate::report::template;

/// Findings of a kind.
#[derive(Serialize)]
struct Section {
    title: String,
    items: Vec<Item>,
}

#[derive(Serialize)]
struct Item {
    place: String,
    message: String,
    diff: Vec<String>,
}

/// A row of the table of costs.
#[derive(Serialize)]
struct Row {
    function: String,
    numbers: [String; 4],
}

/// The page.
///
/// # Errors
/// When the template does not fit what it is given: a defect of this crate.
pub fn html(answer: &Answer) -> Result<String, Error> {
    let line = verdict(answer);
    let sections = KINDS.map(|kind| Section {
        title: capital(kind.title()),
        items: groups(answer, kind).iter().map(Item::of).collect(),
    });
    let sections: Vec<Section> = sections.into_iter().filter(|section| !section.items.is_empty()).collect();
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
            costs => answer.costs.iter().map(Row::of).collect::<Vec<_>>(),
            varying => &answer.varying,
            notes => &answer.notes,
        },
    )?;
    Ok(page + "\n")
}

impl Item {
    fn of(group: &Group<'_>) -> Self {
        let diff = group.finding.diff.iter().flat_map(|diff| diff.lines()).map(str::to_owned).collect();
        Self { place: place(group), message: group.finding.message.clone(), diff }
    }
}

impl Row {
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
