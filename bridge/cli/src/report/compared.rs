//! What `qmpi compare` found, as text and as a page.

use std::fmt::Write;

use crate::commands::compare::Answer;
use crate::compare::finding::{Finding, Kind};

/// Findings of a kind that are shown without `--all`, and lines of a diff.
const SHOWN: usize = 5;
const LINES: usize = 20;

/// The kinds in the order in which they are shown.
const KINDS: [Kind; 7] =
    [Kind::Status, Kind::Wrapper, Kind::CallsIn, Kind::CallsOut, Kind::Output, Kind::File, Kind::Cost];

/// Findings that say the same of several ranks.
struct Group<'a> {
    ranks: Vec<u32>,
    finding: &'a Finding,
}

/// The verdict in a line, then what differs, then what was not compared.
#[must_use]
pub fn text(answer: &Answer, all: bool) -> String {
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
#[must_use]
pub fn verdict(answer: &Answer) -> String {
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

fn groups(answer: &Answer, kind: Kind) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for finding in answer.findings.iter().filter(|finding| finding.kind == kind) {
        let is_it = |group: &&mut Group<'_>| {
            let known = group.finding;
            known.message == finding.message
                && known.call == finding.call
                && known.times == finding.times
                && known.thread == finding.thread
                && known.diff.is_none()
        };
        match groups.iter_mut().find(is_it) {
            Some(group) => group.ranks.extend(finding.rank),
            None => groups.push(Group { ranks: finding.rank.into_iter().collect(), finding }),
        }
    }
    groups
}

/// `rank 0-3, call 17: `
fn place(group: &Group<'_>) -> String {
    let mut words = Vec::new();
    match group.ranks[..] {
        // Its message has the rank in it.
        _ if group.finding.kind == Kind::Output => {}
        [] => {}
        [rank] => words.push(format!("rank {rank}")),
        _ => words.push(format!("ranks {}", ranges(&group.ranks))),
    }
    words.extend(group.finding.thread.filter(|thread| *thread > 0).map(|thread| format!("thread {thread}")));
    words.extend(group.finding.call.map(|call| match group.finding.times {
        1 => format!("call {call}"),
        times => format!("call {call} and {} more", times - 1),
    }));
    if words.is_empty() { String::new() } else { format!("{}: ", words.join(", ")) }
}

/// `0-3, 5`
fn ranges(ranks: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for rank in ranks {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *rank => *last = *rank,
            _ => ranges.push((*rank, *rank)),
        }
    }
    let one = |(first, last): &(u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    ranges.iter().map(one).collect::<Vec<_>>().join(", ")
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

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + letters.as_str())
}

const STYLE: &str = "\
:root { color-scheme: light dark; --edge: #8886; --good: #1a7f37; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --good: #57c878; --bad: #ff8a80; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; } h1 strong { padding: 0 .4em; border: 2px solid; border-radius: .3em; }
.same { color: var(--good); } .different { color: var(--bad); }
pre { overflow-x: auto; border: 1px solid var(--edge); padding: .6rem; } del, ins { text-decoration: none; }
del { color: var(--bad); } ins { color: var(--good); }
table { border-collapse: collapse; } th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--edge); }
td.number { text-align: right; font-variant-numeric: tabular-nums; } .place { opacity: .75; }";

/// One page that needs nothing else.
#[must_use]
pub fn page(answer: &Answer) -> String {
    let mut page = String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    let line = verdict(answer);
    let rest = line.split_once(": ").map_or("", |(_, rest)| rest);
    let _ = write!(
        page,
        "<meta name=\"viewport\" content=\"width=device-width\">\n<title>{0}: qmpi compare</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n<main>\n<h1><strong class=\"{0}\">{0}</strong> {1}</h1>\n",
        answer.verdict,
        escaped(rest)
    );
    for kind in KINDS {
        let groups = groups(answer, kind);
        if groups.is_empty() {
            continue;
        }
        let _ = write!(page, "<section>\n<h2>{}</h2>\n<ul>\n", capital(kind.title()));
        for group in &groups {
            let _ = write!(
                page,
                "<li><span class=\"place\">{}</span>{}",
                escaped(&place(group)),
                escaped(&group.finding.message)
            );
            if let Some(diff) = &group.finding.diff {
                let _ = write!(
                    page,
                    "\n<pre tabindex=\"0\">{}</pre>",
                    diff.lines().map(marked).collect::<Vec<_>>().join("\n")
                );
            }
            page.push_str("</li>\n");
        }
        page.push_str("</ul>\n</section>\n");
    }
    costs(&mut page, answer);
    if !answer.varying.is_empty() {
        page.push_str("<section>\n<h2>Not compared, as it varies between runs of one side</h2>\n<ul>\n");
        for (what, list) in &answer.varying {
            let _ = writeln!(page, "<li>{}: {}</li>", escaped(what), escaped(&list.join(", ")));
        }
        page.push_str("</ul>\n</section>\n");
    }
    for note in &answer.notes {
        let _ = writeln!(page, "<p>{}.</p>", escaped(note));
    }
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

fn costs(page: &mut String, answer: &Answer) {
    if answer.costs.is_empty() {
        return;
    }
    let [old, new] = [0, 1].map(|side: usize| answer.sides.get(side).map_or("", |about| about.name));
    let _ = write!(
        page,
        "<section>\n<h2>What a call costs in the tools</h2>\n<table>\n<thead><tr><th scope=\"col\">function</th><th scope=\"col\">{old}, ns</th><th scope=\"col\">{new}, ns</th><th scope=\"col\">ratio</th><th scope=\"col\">with 99 % confidence</th></tr></thead>\n<tbody>\n"
    );
    for cost in &answer.costs {
        let _ = writeln!(
            page,
            "<tr><th scope=\"row\">{}</th><td class=\"number\">{:.0}</td><td class=\"number\">{:.0}</td><td class=\"number\">{:.2}</td><td class=\"number\">{:.2} to {:.2}</td></tr>",
            escaped(&cost.function),
            cost.old_ns,
            cost.new_ns,
            cost.ratio,
            cost.interval.0,
            cost.interval.1
        );
    }
    page.push_str("</tbody>\n</table>\n</section>\n");
}

fn marked(line: &str) -> String {
    let text = escaped(line);
    match line.as_bytes().first() {
        Some(b'-') => format!("<del>{text}</del>"),
        Some(b'+') => format!("<ins>{text}</ins>"),
        _ => text,
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
