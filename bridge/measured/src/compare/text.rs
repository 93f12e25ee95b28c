//! What `qmpi compare` found, as text and as a page.

use std::fmt::Write;

use crate::compare::answer::Comparison;
use crate::compare::finding::{Aspect, Finding};
use crate::notes::{capital, ranges};

/// Findings of a kind that are shown without `--all`, and lines of a diff.
const SHOWN: usize = 5;
const LINES: usize = 20;

/// The kinds in the order in which they are shown.
pub(super) const KINDS: [Aspect; 7] =
    [Aspect::Status, Aspect::Wrapper, Aspect::CallsIn, Aspect::CallsOut, Aspect::Output, Aspect::File, Aspect::Cost];

/// Findings that say the same of several ranks.
pub(super) struct FindingGroup<'a> {
    ranks: Vec<u32>,
    pub(super) finding: &'a Finding,
}

/// The verdict in a line, then what differs, then what was not compared.
pub fn text(answer: &Comparison, all: bool) -> String {
    let mut text = verdict(answer);
    text.push('\n');
    for kind in KINDS {
        let groups = groups(answer, kind);
        if groups.is_empty() {
            continue;
        }
        // Writing into a String cannot fail, here and below.
        let _ = writeln!(text, "\n{}", capital(kind.title()));
        let shown = if all { usize::MAX } else { SHOWN };
        for group in groups.iter().take(shown) {
            let _ = writeln!(text, "  {}{}", place(group), group.finding.message);
            diff(&mut text, group.finding, all);
        }
        if groups.len() > shown {
            let _ = writeln!(text, "  ... {} more, with --all", groups.len() - shown);
        }
    }
    if !answer.varying.is_empty() {
        let _ = writeln!(text, "\nNot compared, as it varies between runs of one side");
        for (what, list) in &answer.varying {
            let _ = writeln!(text, "  {what}: {}", shortened(list, all));
        }
    }
    for note in &answer.notes {
        let _ = writeln!(text, "\nNote: {note}.");
    }
    text
}

/// `same: ...` or `different: ...`
pub fn verdict(answer: &Comparison) -> String {
    let [old, new] = [0, 1].map(|side: usize| answer.sides.get(side).map_or("", |about| about.what.as_str()));
    let runs = answer.sides.first().map_or(0, |about| about.runs);
    let runs = if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
    if answer.findings.is_empty() {
        return format!("same: {old}, and {new}, in {runs} of each");
    }
    let kinds: Vec<&str> =
        KINDS.iter().filter(|kind| !groups(answer, **kind).is_empty()).map(|kind| kind.title()).collect();
    format!("different: {old}, and {new}, in {runs} of each: {}", kinds.join(", "))
}

pub(super) fn groups(answer: &Comparison, kind: Aspect) -> Vec<FindingGroup<'_>> {
    let mut groups: Vec<FindingGroup<'_>> = Vec::new();
    for finding in answer.findings.iter().filter(|finding| finding.kind == kind) {
        let is_it = |group: &&mut FindingGroup<'_>| {
            let known = group.finding;
            known.message == finding.message
                && known.call == finding.call
                && known.site == finding.site
                && known.times == finding.times
                && known.thread == finding.thread
                && known.diff.is_none()
        };
        match groups.iter_mut().find(is_it) {
            Some(group) => group.ranks.extend(finding.rank),
            None => groups.push(FindingGroup { ranks: finding.rank.into_iter().collect(), finding }),
        }
    }
    groups
}

/// `rank 0-3, call 17: `
pub(super) fn place(group: &FindingGroup<'_>) -> String {
    let mut words = Vec::new();
    match group.ranks[..] {
        // Its message has the rank in it.
        _ if group.finding.kind == Aspect::Output => {}
        [] => {}
        [rank] => words.push(format!("rank {rank}")),
        _ => words.push(format!("ranks {}", ranges(&group.ranks, '-', usize::MAX))),
    }
    words.extend(group.finding.thread.filter(|thread| *thread > 0).map(|thread| format!("thread {thread}")));
    words.extend(group.finding.call.map(|call| match group.finding.times {
        1 => format!("call {call}"),
        times => format!("call {call} and {} more", times - 1),
    }));
    if let (Some(site), Some(call)) = (&group.finding.site, words.last_mut().filter(|_| group.finding.call.is_some())) {
        let _ = write!(call, " ({site})");
    }
    if words.is_empty() { String::new() } else { format!("{}: ", words.join(", ")) }
}

fn diff(text: &mut String, finding: &Finding, all: bool) {
    let Some(diff) = &finding.diff else { return };
    let lines: Vec<&str> = diff.lines().collect();
    let shown = if all { lines.len() } else { LINES };
    for line in lines.iter().take(shown) {
        let _ = writeln!(text, "    {line}");
    }
    if lines.len() > shown {
        let _ = writeln!(text, "    ... {} more lines, with --all", lines.len() - shown);
    }
}

fn shortened(list: &[String], all: bool) -> String {
    let shown = if all { list.len() } else { SHOWN };
    let more = if list.len() > shown { format!(", and {} more", list.len() - shown) } else { String::new() };
    list.iter().take(shown).cloned().collect::<Vec<_>>().join(", ") + &more
}
