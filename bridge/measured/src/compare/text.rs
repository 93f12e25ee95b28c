//! What `qmpi compare` found, as text and as a page.

use std::fmt::Write;

use serde::Serialize;

use crate::compare::answer::Comparison;
use crate::compare::finding::{Aspect, Finding};
use crate::notes::{capital, ranges};

/// Findings of a kind that are shown without `--all`, and lines of a diff.
const SHOWN: usize = 5;
const LINES: usize = 20;

/// All findings of a kind, as they are shown.
#[derive(Serialize)]
pub(super) struct Section<'a> {
    kind: Aspect,
    /// The kind, with a capital.
    title: String,
    groups: Vec<FindingGroup<'a>>,
}

/// A finding that says the same of several ranks.
#[derive(Serialize)]
struct FindingGroup<'a> {
    ranks: Vec<u32>,
    finding: &'a Finding,
    /// `rank 0-3, call 17: `
    place: String,
}

/// The verdict in a line, then what differs, then what was not compared.
pub fn text(answer: &Comparison, all: bool) -> String {
    // Writing into a String cannot fail, here and below.
    let mut text = verdict(answer) + "\n";
    let most = |shown| if all { usize::MAX } else { shown };
    for Section { title, groups, .. } in sections(answer) {
        let _ = writeln!(text, "\n{title}");
        for group in groups.iter().take(most(SHOWN)) {
            let _ = writeln!(text, "  {}{}", group.place, group.finding.message);
            let lines = || group.finding.diff.iter().flat_map(|diff| diff.lines());
            for line in lines().take(most(LINES)) {
                let _ = writeln!(text, "    {line}");
            }
            if let more @ 1.. = lines().count().saturating_sub(most(LINES)) {
                let _ = writeln!(text, "    ... {more} more lines, with --all");
            }
        }
        if let more @ 1.. = groups.len().saturating_sub(most(SHOWN)) {
            let _ = writeln!(text, "  ... {more} more, with --all");
        }
    }
    if !answer.varying.is_empty() {
        let _ = writeln!(text, "\nNot compared, as it varies between runs of one side");
        for (what, list) in &answer.varying {
            let shown = &list[..list.len().min(most(SHOWN))];
            let more = list.len() - shown.len();
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            let _ = writeln!(text, "  {what}: {}{more}", shown.join(", "));
        }
    }
    for note in &answer.notes {
        let _ = writeln!(text, "\nNote: {note}.");
    }
    text
}

/// `same: ...` or `different: ...`
pub fn verdict(answer: &Comparison) -> String {
    let [old, new] = answer.sides.each_ref().map(|about| &about.what);
    let runs = match answer.sides[0].runs {
        1 => "1 run".to_owned(),
        runs => format!("{runs} runs"),
    };
    let titles: Vec<&str> = sections(answer).iter().map(|section| section.kind.title()).collect();
    let titles = if titles.is_empty() { String::new() } else { format!(": {}", titles.join(", ")) };
    format!("{}: {old}, and {new}, in {runs} of each{titles}", answer.verdict)
}

/// What differs, in the order in which it is shown.
pub(super) fn sections(answer: &Comparison) -> Vec<Section<'_>> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    for finding in &answer.findings {
        if sections.last().is_none_or(|section| section.kind != finding.kind) {
            sections.push(Section { kind: finding.kind, title: capital(finding.kind.title()), groups: Vec::new() });
        }
        let Some(Section { groups, .. }) = sections.last_mut() else { continue };
        let is_it = |group: &&mut FindingGroup<'_>| {
            finding.diff.is_none() && Finding { rank: finding.rank, ..group.finding.clone() } == *finding
        };
        match groups.iter_mut().find(is_it) {
            Some(group) => group.ranks.extend(finding.rank),
            None => groups.push(FindingGroup { ranks: Vec::from_iter(finding.rank), finding, place: String::new() }),
        }
    }
    for group in sections.iter_mut().flat_map(|section| &mut section.groups) {
        group.place = place(&group.ranks, group.finding);
    }
    sections
}

fn place(ranks: &[u32], finding: &Finding) -> String {
    let mut words = Vec::new();
    match ranks {
        // Its message has the rank in it.
        _ if finding.kind == Aspect::Output => {}
        [] => {}
        [rank] => words.push(format!("rank {rank}")),
        _ => words.push(format!("ranks {}", ranges(ranks, '-', usize::MAX))),
    }
    words.extend(finding.thread.filter(|thread| *thread > 0).map(|thread| format!("thread {thread}")));
    words.extend(finding.call.map(|call| {
        let more = if finding.times == 1 { String::new() } else { format!(" and {} more", finding.times - 1) };
        let site = finding.site.as_ref().map_or_else(String::new, |site| format!(" ({site})"));
        format!("call {call}{more}{site}")
    }));
    if words.is_empty() { String::new() } else { format!("{}: ", words.join(", ")) }
}
